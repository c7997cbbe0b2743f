package org.verbena.collective;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.verbena.layout.ChunkLayout;
import org.verbena.transport.Transport;

/**
 * How chunks pass through a rank: one after the other into its slots, from there to its children,
 * and when all children have it, the slot is free for another. Chunks are numbered from 0; number n
 * is in slot n mod slots, on every rank.
 *
 * <p>A rank that passes nothing on, and whose parent is direct, takes chunks out of the parent's
 * slots, where they stay until it has accepted them; so they are copied once less.
 */
final class Relay {
  private final Port port;
  private final Transport transport;
  private final ChunkLayout layout;
  private final Move move;
  private final int parent;
  private final int[] children;
  private final long[] syncs;
  private final Chunk[] chunks;

  /** Whether chunks are taken out of the parent's slots. */
  private final boolean inPlace;

  /** By child: whether it takes chunks out of this rank's slots. */
  private final boolean[] taking;

  /** The chunk that is taken next. */
  private long next;

  /** The chunks before this one have left their slots. */
  private long freed;

  private boolean ended;
  private int attempt;
  private boolean reading;
  private long readTicket;
  private long repeated;

  /** By child: the chunk that it is sent next, and the one that it has not accepted yet. */
  private final long[] sent;

  private final long[] accepted;
  private final int[] attempts;
  private final long[][] tickets;

  Relay(Port port, ChunkLayout layout, Route route, long[] syncs) {
    this.port = port;
    this.transport = port.transport();
    this.layout = layout;
    this.move = route.move();
    this.parent = route.parent(port.rank());
    this.children = route.children(port.rank());
    this.syncs = syncs;
    inPlace = parent >= 0 && isTaking(route, port.rank(), parent);
    MemorySegment memory = inPlace ? transport.stage(parent) : transport.window();
    chunks = new Chunk[layout.shape().slots()];
    for (int slot = 0; slot < chunks.length; slot++) {
      chunks[slot] = new Chunk(memory, layout.slot(slot), layout.shape().bytes());
    }
    taking = new boolean[children.length];
    for (int child = 0; child < children.length; child++) {
      taking[child] = isTaking(route, children[child], children[child]);
    }
    sent = new long[children.length];
    accepted = new long[children.length];
    attempts = new int[children.length];
    tickets = new long[children.length][chunks.length];
    for (int slot = 0; parent >= 0 && slot < chunks.length; slot++) {
      request(slot, 0);
    }
    port.startWait("parameter sync", next);
  }

  /**
   * Whether a rank takes chunks out of its parent's slots; {@code peer} is the other of the two.
   */
  private boolean isTaking(Route route, int rank, int peer) {
    return route.children(rank).length == 0 && transport.isDirect(peer);
  }

  /** The chunk to be taken next. */
  Chunk chunk() {
    return chunks[slot(next)];
  }

  /** The number of the chunk to be taken next. */
  long number() {
    return next;
  }

  /** How often this rank had a chunk sent again. */
  long repeated() {
    return repeated;
  }

  /**
   * Whether the next chunk can be taken: its slot is free, and a parent's chunk is there, whole.
   */
  boolean canTake() throws IOException {
    return !ended && next - freed < chunks.length && (parent < 0 || isThere());
  }

  /** The chunk is taken, and may be passed on. */
  void take(boolean last) {
    next++;
    ended = last;
    attempt = 0;
    if (parent >= 0) {
      transport.signalRelease(
          parent, layout.accepted(port.rank()), SyncWord.chunk(syncs[parent], next, 0));
    }
  }

  /** Whether the last chunk was taken and all children have it. */
  boolean isDone() {
    return ended && freed == next;
  }

  /**
   * Passes on what can be.
   *
   * @param moved whether a chunk was taken since the last call
   */
  void passOn(boolean moved) {
    boolean progress = moved;
    for (int child = 0; child < children.length; child++) {
      progress |= isAccepted(child);
      progress |= isSent(child);
    }
    progress |= isFreed();
    if (progress) {
      port.startWait("parameter sync", next);
    } else {
      port.pause(awaited());
    }
  }

  /** Whether the next chunk has arrived from the parent; a damaged one is requested again. */
  private boolean isThere() throws IOException {
    long word = port.wordAcquire(layout.ready(parent, slot(next)));
    if (SyncWord.attempt(word, syncs[parent], next) != attempt) {
      return false;
    }
    if (move == Move.READ && !inPlace && !isRead()) {
      return false;
    }
    if (chunk().isWhole(next)) {
      return true;
    }
    attempt++;
    repeated++;
    if (attempt == ParameterSync.MOST_ATTEMPTS) {
      throw new IOException(
          "chunk %d arrived damaged from rank %d, %d times".formatted(next, parent, attempt));
    }
    request(next, attempt);
    return false;
  }

  private boolean isRead() {
    long slot = layout.slot(slot(next));
    if (!reading) {
      readTicket = transport.read(parent, slot, slot, chunk().memory().byteSize());
      reading = true;
    }
    reading = !port.isComplete(parent, readTicket);
    return !reading;
  }

  private void request(long number, int attempt) {
    transport.signalRelease(
        parent,
        layout.request(port.rank(), slot(number)),
        SyncWord.chunk(syncs[parent], number, attempt));
  }

  /** Sends a child the next chunk, if there is one and it was requested. */
  private boolean isSent(int child) {
    long number = sent[child];
    if (number == next || requested(child, number) < 0) {
      return false;
    }
    send(child, number, 0);
    sent[child]++;
    return true;
  }

  /** Looks how far a child is, and whether it wants the oldest chunk that it has not once more. */
  private boolean isAccepted(int child) {
    int peer = children[child];
    long before = accepted[child];
    if (before == sent[child]) {
      return false;
    }
    long now = SyncWord.number(port.wordAcquire(layout.accepted(peer)), syncs[peer]);
    if (now > sent[child]) {
      throw port.broken(
          peer,
          "parameter sync: rank %d says that it has %d chunks, but was sent %d"
              .formatted(peer, now, sent[child]));
    }
    if (now > before) {
      accepted[child] = now;
      attempts[child] = 0;
      return true;
    }
    int requested = requested(child, before);
    if (requested <= attempts[child]) {
      return false;
    }
    attempts[child] = requested;
    send(child, before, requested);
    return true;
  }

  /** The attempt of a chunk that a child requests; -1 if it does not request this chunk. */
  private int requested(int child, long number) {
    int peer = children[child];
    long word = port.wordAcquire(layout.request(peer, slot(number)));
    return SyncWord.attempt(word, syncs[peer], number);
  }

  private void send(int child, long number, int attempt) {
    int peer = children[child];
    int slot = slot(number);
    long offset = layout.slot(slot);
    if (move == Move.WRITE && !taking[child]) {
      long bytes = (long) ChunkLayout.HEADER_BYTES + chunks[slot].bytes();
      if (transport.isDirect(peer)) {
        MemorySegment.copy(chunks[slot].memory(), 0, transport.stage(peer), offset, bytes);
      }
      tickets[child][slot] = transport.write(peer, offset, offset, bytes);
    }
    transport.signalRelease(
        peer, layout.ready(port.rank(), slot), SyncWord.chunk(syncs[peer], number, attempt));
  }

  /** Gives the oldest chunk's slot free once all children have it and the network has let go. */
  private boolean isFreed() {
    if (freed == next) {
      return false;
    }
    for (int child = 0; child < children.length; child++) {
      if (accepted[child] == freed
          || !port.isComplete(children[child], tickets[child][slot(freed)])) {
        return false;
      }
    }
    if (parent >= 0) {
      request(freed + chunks.length, 0);
    }
    freed++;
    return true;
  }

  /** The peer that has to do something before this rank can. */
  private int awaited() {
    if (!ended && next - freed < chunks.length && parent >= 0) {
      return parent;
    }
    int slowest = 0;
    for (int child = 1; child < children.length; child++) {
      slowest = accepted[child] < accepted[slowest] ? child : slowest;
    }
    return children[slowest];
  }

  private int slot(long number) {
    return (int) (number % chunks.length);
  }
}
