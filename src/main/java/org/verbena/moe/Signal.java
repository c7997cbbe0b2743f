package org.verbena.moe;

/**
 * The words in which ranks tell each other how far they are. Each carries its epoch, so that
 * nothing needs clearing between rounds: a word counts only if it is of the very epoch that is
 * awaited.
 *
 * <p>A 64-bit word holds the epoch's low 32 bits in its high half. Its low half is never 0, because
 * the low half of an epoch may be, and an untouched word must not look like a signal.
 */
final class Signal {
  /** Rounds between two clearings of the flags: a flag is the same again after 2^31 rounds. */
  static final long FLAG_PERIOD = 1L << 30;

  private static final int CLOSED = 1 << 31;

  private Signal() {}

  /** After a dispatch: how many rows were sent. */
  static long dispatched(long epoch, int rows) {
    return epoch << 32 | (rows + 1);
  }

  /** During a combine: how many rows, in slot order, are there. */
  static long progress(long epoch, int rows) {
    return epoch << 32 | (rows + 1);
  }

  /** At the end of a combine: how many rows were sent; no more will come. */
  static long closing(long epoch, int rows) {
    return epoch << 32 | Integer.toUnsignedLong(CLOSED | (rows + 1));
  }

  /** At the end of one row, where rows come in any order. Never 0. */
  static int flag(long epoch) {
    return (int) epoch << 1 | 1;
  }

  static int rows(long word) {
    return ((int) word & ~CLOSED) - 1;
  }

  static boolean isClosing(long word) {
    return ((int) word & CLOSED) != 0;
  }

  static boolean isOf(long epoch, long word) {
    return (int) (word >>> 32) == (int) epoch && (int) word != 0;
  }

  /** Whether a word is of a later epoch than the awaited one: nobody may be that far ahead. */
  static boolean isLater(long epoch, long word) {
    return (int) word != 0 && (int) (word >>> 32) - (int) epoch > 0;
  }
}
