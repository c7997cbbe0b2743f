package org.verbena.transport.shm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import org.verbena.transport.PeerState;

/**
 * What precedes the window in a file: the owner's secret, then one word per peer in which it says
 * how it left. Words of different peers are on different cache lines.
 */
final class ControlBlock {
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
  private static final long LINE = 64;
  private static final long PAGE = 4096;

  private static final int OPEN = 0;
  private static final int CLOSED = 1;
  private static final int FAILED = 2;

  private final MemorySegment memory;

  ControlBlock(MemorySegment memory) {
    this.memory = memory;
  }

  /** Size of the block in bytes, a multiple of the page size. */
  static long bytes(int ranks) {
    return (LINE * (1L + ranks) + PAGE - 1) / PAGE * PAGE;
  }

  /** A number that only those can know who opened the file. */
  long secret() {
    return (long) LONG.getAcquire(memory, 0L);
  }

  void writeSecret(long secret) {
    LONG.setRelease(memory, 0L, secret);
  }

  void markClosed(int by) {
    LONG.setRelease(memory, word(by), (long) CLOSED);
  }

  void markFailed(int by, int culprit) {
    LONG.setRelease(memory, word(by), (long) culprit << 32 | FAILED);
  }

  PeerState state(int peer) {
    long word = (long) LONG.getAcquire(memory, word(peer));
    return switch ((int) word) {
      case OPEN -> new PeerState(PeerState.Kind.ALIVE, peer);
      case CLOSED -> new PeerState(PeerState.Kind.CLOSED, peer);
      default -> new PeerState(PeerState.Kind.FAILED, (int) (word >>> 32));
    };
  }

  private static long word(int peer) {
    return LINE * (1L + peer);
  }
}
