package org.verbena.collective;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.LongPredicate;
import org.verbena.transport.IdleStrategy;
import org.verbena.transport.PeerState;
import org.verbena.transport.Registration;
import org.verbena.transport.Transport;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.WrappedProvider;

/**
 * Damages some of the large blocks that one rank writes to others, and that it reads from them, on
 * whatever transport: a byte of it changes before its signal, or its completion, is seen.
 */
final class DamagingTransport implements Transport {
  private static final long LARGE = 4096;

  private final Transport transport;
  private final LongPredicate which;
  private long count;
  private boolean readPending;
  private long readOffset;

  private DamagingTransport(Transport transport, LongPredicate which) {
    this.transport = transport;
    this.which = which;
  }

  /**
   * A provider of these for one rank, and of what {@code provider} opens for the others.
   *
   * @param rank whose writes and reads
   * @param which which of them, counted from 0
   */
  static TransportProvider provider(TransportProvider provider, int rank, LongPredicate which) {
    return new WrappedProvider(
        provider,
        (group, transport) ->
            group.rank() == rank ? new DamagingTransport(transport, which) : transport);
  }

  @Override
  public int rank() {
    return transport.rank();
  }

  @Override
  public int size() {
    return transport.size();
  }

  @Override
  public MemorySegment window() {
    return transport.window();
  }

  @Override
  public boolean isDirect(int peer) {
    return transport.isDirect(peer);
  }

  @Override
  public MemorySegment stage(int peer) {
    return transport.stage(peer);
  }

  @Override
  public long write(int peer, long remoteOffset, long localOffset, long bytes) {
    long ticket = transport.write(peer, remoteOffset, localOffset, bytes);
    if (bytes < LARGE || !which.test(count++)) {
      return ticket;
    }
    if (isDirect(peer)) {
      flip(stage(peer), remoteOffset + bytes - 1);
      return ticket;
    }
    // Its first byte, which is none of its last.
    return transport.write(peer, remoteOffset + bytes - 8, localOffset, 8);
  }

  @Override
  public Registration register(MemorySegment memory) {
    return transport.register(memory);
  }

  @Override
  public long write(int peer, long remoteOffset, Registration from, long offset, long bytes) {
    return transport.write(peer, remoteOffset, from, offset, bytes);
  }

  @Override
  public void signalRelease(int peer, long remoteOffset, long value) {
    transport.signalRelease(peer, remoteOffset, value);
  }

  @Override
  public void signalIntRelease(int peer, long remoteOffset, int value) {
    transport.signalIntRelease(peer, remoteOffset, value);
  }

  @Override
  public long read(int peer, long remoteOffset, long localOffset, long bytes) {
    readPending = bytes >= LARGE && which.test(count++);
    readOffset = localOffset;
    return transport.read(peer, remoteOffset, localOffset, bytes);
  }

  @Override
  public long fetchAndAdd(int peer, long remoteOffset, long delta, long localOffset) {
    return transport.fetchAndAdd(peer, remoteOffset, delta, localOffset);
  }

  @Override
  public long compareAndSwap(
      int peer, long remoteOffset, long expected, long value, long localOffset) {
    return transport.compareAndSwap(peer, remoteOffset, expected, value, localOffset);
  }

  @Override
  public boolean isComplete(int peer, long ticket) {
    boolean complete = transport.isComplete(peer, ticket);
    if (complete && readPending) {
      readPending = false;
      flip(window(), readOffset);
    }
    return complete;
  }

  private static void flip(MemorySegment memory, long at) {
    memory.set(ValueLayout.JAVA_BYTE, at, (byte) ~memory.get(ValueLayout.JAVA_BYTE, at));
  }

  @Override
  public void progress() {
    transport.progress();
  }

  @Override
  public IdleStrategy idleStrategy() {
    return transport.idleStrategy();
  }

  @Override
  public PeerState state(int peer) {
    return transport.state(peer);
  }

  @Override
  public void fail(int culprit) {
    transport.fail(culprit);
  }

  @Override
  public void close() {
    transport.close();
  }
}
