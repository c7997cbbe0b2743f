package org.verbena.transport.rdma;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import org.verbena.verbs.MemoryRegion;
import org.verbena.verbs.QueuePair;
import org.verbena.verbs.ReceiveRequests;

/**
 * The mails of one lane, both ways. A mail is a signal that comes with immediate data: its place in
 * the receiver's mailbox. The receiver stores the word itself, and tells now and then how many
 * mails it has taken; the sender never has more under way than there are places, so that none is
 * overwritten and each finds a receive.
 */
final class Mailbox {
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();
  private static final int BATCHES = 4;

  /** The lowest bit of a mail's offset, of a 32-bit word. */
  private static final long IS_INT = 1;

  private final ControlBlock layout;
  private final MemorySegment block;
  private final MemorySegment window;
  private final int peer;
  private final int lane;
  private final QueuePair pair;
  private final ReceiveRequests batch;
  private long sent;
  private long taken;
  private long told;

  Mailbox(
      ControlBlock layout,
      MemoryRegion block,
      MemorySegment window,
      int peer,
      int lane,
      QueuePair pair,
      long receiveId) {
    this.layout = layout;
    this.block = block.memory();
    this.window = window;
    this.peer = peer;
    this.lane = lane;
    this.pair = pair;
    batch = pair.receiveRequests(layout.places() / BATCHES, 0);
    for (int i = 0; i < layout.places() / BATCHES; i++) {
      batch.receive(receiveId);
    }
  }

  /** Places for so many requests under way: a power of 2, in whole batches. */
  static int places(int queueDepth) {
    return Math.max(BATCHES, Integer.highestOneBit(queueDepth));
  }

  /** Posts the first receives; before the peer may write. */
  void open() {
    for (int i = 0; i < BATCHES; i++) {
      post();
    }
  }

  private void post() {
    if (!pair.post(batch)) {
      throw new IllegalStateException("%s has fewer receives than it said".formatted(pair));
    }
  }

  /** Whether the peer has a place for another mail. */
  boolean hasPlace() {
    long takenThere = (long) LONG.getAcquire(block, layout.taken(peer, lane));
    return sent - takenThere < layout.places();
  }

  /** The place of the next mail. */
  int nextPlace() {
    return (int) (sent++ & (layout.places() - 1));
  }

  /** What a mail says first, of a word of 4 or 8 bytes. */
  static long address(long offset, int bytes) {
    return bytes == Integer.BYTES ? offset | IS_INT : offset;
  }

  /**
   * Stores the word of a mail that has come.
   *
   * @throws IndexOutOfBoundsException if there is no such place or word
   */
  void takeRelease(int place) {
    if (place < 0 || place >= layout.places()) {
      throw new IndexOutOfBoundsException("a mail in place %d".formatted(place));
    }
    long mail = layout.mail(peer, lane, place);
    long address = (long) LONG.getAcquire(block, mail);
    long value = (long) LONG.getAcquire(block, mail + Long.BYTES);
    if ((address & IS_INT) != 0) {
      INT.setRelease(window, address & ~IS_INT, (int) value);
    } else {
      LONG.setRelease(window, address, value);
    }
    taken++;
    if (taken % (layout.places() / BATCHES) == 0) {
      post();
    }
  }

  /** Mails taken whose receives are posted again. */
  long free() {
    return taken - taken % (layout.places() / BATCHES);
  }

  /** Whether the peer should be told that more are {@link #free}. */
  boolean isNewsDue() {
    return free() > told;
  }

  void told() {
    told = free();
  }
}
