package org.verbena.cli;

import java.io.IOException;
import java.nio.ByteBuffer;
import org.verbena.verbs.Access;
import org.verbena.verbs.CompletionQueue;
import org.verbena.verbs.Completions;
import org.verbena.verbs.Context;
import org.verbena.verbs.Endpoint;
import org.verbena.verbs.MemoryRegion;
import org.verbena.verbs.PathChoice;
import org.verbena.verbs.ProtectionDomain;
import org.verbena.verbs.QueuePair;
import org.verbena.verbs.QueuePairOptions;
import org.verbena.verbs.RemoteRegion;

/** Two connected ends of a measurement, with a buffer each. */
final class PerfConnection implements AutoCloseable {
  private static final int MAGIC = 0x76657262;

  private final Context context;
  private final Peer peer;
  private final CompletionQueue queue;
  private final QueuePair pair;
  private final MemoryRegion buffer;
  private final RemoteRegion remote;

  private PerfConnection(
      Context context,
      Peer peer,
      CompletionQueue queue,
      QueuePair pair,
      MemoryRegion buffer,
      RemoteRegion remote) {
    this.context = context;
    this.peer = peer;
    this.queue = queue;
    this.pair = pair;
    this.buffer = buffer;
    this.remote = remote;
  }

  /**
   * Meets the other end and connects.
   *
   * @param measure what is measured, size and iterations: the same on both ends
   * @param access what the peer may do to the buffer
   */
  static PerfConnection open(
      PathChoice choice,
      PerfOptions options,
      long bytes,
      QueuePairOptions pairOptions,
      int[] measure,
      Access... access)
      throws IOException {
    Context context = choice.context();
    ProtectionDomain domain = context.createProtectionDomain();
    MemoryRegion buffer = domain.allocate(bytes, access);
    CompletionQueue queue =
        context.createCompletionQueue(pairOptions.sendDepth() + pairOptions.receiveDepth());
    QueuePair pair = domain.createQueuePair(choice.path(), pairOptions, queue, queue);
    Peer peer = Peer.meet(options.host(), options.port());
    try {
      ByteBuffer mine =
          ByteBuffer.allocate(4 + 4 * measure.length + Endpoint.BYTES + RemoteRegion.BYTES);
      mine.putInt(MAGIC);
      for (int number : measure) {
        mine.putInt(number);
      }
      mine.put(pair.endpoint().encode()).put(buffer.remote().encode());
      ByteBuffer other = ByteBuffer.wrap(peer.exchange(mine.array()));
      if (other.capacity() != mine.capacity() || other.getInt() != MAGIC) {
        throw new IOException("the peer measures something else");
      }
      for (int number : measure) {
        int theirs = other.getInt();
        if (theirs != number) {
          throw new IOException(
              "the ends were given different options: %d here, %d there".formatted(number, theirs));
        }
      }
      pair.connect(Endpoint.decode(other));
      RemoteRegion remote = RemoteRegion.decode(other);
      peer.await();
      return new PerfConnection(context, peer, queue, pair, buffer, remote);
    } catch (IOException | RuntimeException e) {
      peer.close();
      throw e;
    }
  }

  Peer peer() {
    return peer;
  }

  QueuePair pair() {
    return pair;
  }

  MemoryRegion buffer() {
    return buffer;
  }

  RemoteRegion remote() {
    return remote;
  }

  /** Polls once; throws the error of what failed. */
  int poll(Completions found) {
    int size = queue.poll(found);
    for (int i = 0; i < size; i++) {
      found.requireSuccess(i);
    }
    return size;
  }

  @Override
  public void close() throws IOException {
    try {
      context.close();
    } finally {
      peer.close();
    }
  }
}
