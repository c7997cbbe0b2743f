package org.verbena.transport.rdma;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import org.verbena.transport.PeerState;

/**
 * What peers tell a rank about themselves, beside its window and of the same layout on every rank.
 * For each peer, on cache lines of its own:
 *
 * <ul>
 *   <li>how it left, a 64-bit word
 *   <li>a word that it writes to see whether this rank is there, and nobody reads
 *   <li>for each queue pair, how many of this rank's mails it has taken
 *   <li>for each queue pair, a mailbox: places of an offset and a word, for signals that come with
 *       immediate data
 * </ul>
 *
 * @param ranks in the group
 * @param lanes queue pairs for each peer
 * @param places in a mailbox, 0 if there are none
 */
record ControlBlock(int ranks, int lanes, int places) {
  /** Bytes of a mail: an offset, whose lowest bit tells a 32-bit word, and the word. */
  static final int MAIL_BYTES = 16;

  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
  private static final long LINE = 64;
  private static final int OPEN = 0;
  private static final int CLOSED = 1;
  private static final int FAILED = 2;

  long bytes() {
    return ranks * peerBytes();
  }

  private long peerBytes() {
    long words = (Long.BYTES * (2L + lanes) + LINE - 1) / LINE * LINE;
    return words + ((long) lanes * places * MAIL_BYTES + LINE - 1) / LINE * LINE;
  }

  /** Where a rank tells how it left. */
  long state(int rank) {
    return rank * peerBytes();
  }

  /** Where a rank writes to see whether there is an answer. */
  long probe(int rank) {
    return state(rank) + Long.BYTES;
  }

  /** Where a rank tells how many mails of a lane it has taken. */
  long taken(int rank, int lane) {
    return state(rank) + Long.BYTES * (2L + lane);
  }

  /** Where a rank's mails of a lane arrive. */
  long mail(int rank, int lane, int place) {
    long mailboxes = (Long.BYTES * (2L + lanes) + LINE - 1) / LINE * LINE;
    return state(rank) + mailboxes + ((long) lane * places + place) * MAIL_BYTES;
  }

  static long closed() {
    return CLOSED;
  }

  static long failed(int culprit) {
    return ((long) culprit << 32) | FAILED;
  }

  /** What a peer has told of itself in this rank's block. */
  PeerState read(MemorySegment block, int peer) {
    long word = (long) LONG.getAcquire(block, state(peer));
    return switch ((int) word) {
      case OPEN -> new PeerState(PeerState.Kind.ALIVE, peer);
      case CLOSED -> new PeerState(PeerState.Kind.CLOSED, peer);
      default -> new PeerState(PeerState.Kind.FAILED, (int) (word >>> 32));
    };
  }
}
