package org.verbena.collective;

/**
 * The words of a parameter sync. Each carries the number of the sync between the two ranks (24
 * bits), so that nothing needs clearing in between.
 *
 * <p>Of a chunk: its number (32 bits) and how often it was sent before (8 bits). The receiver
 * requests a chunk with the same word with which the sender then says that it is there. Such a word
 * also says how many chunks have arrived whole.
 */
final class SyncWord {
  /** How far a rank is; in this order. */
  static final int COMPLETE = 1;

  static final int COMMIT = 2;
  static final int COMMITTED = 3;
  static final int ABORT = 4;

  /** A sync's number in a word is 1 to this, so that an untouched word is of none. */
  private static final int SYNC_NUMBERS = 0xffffff;

  private SyncWord() {}

  static long chunk(long sync, long number, int attempt) {
    return sync(sync) << 40 | (number & 0xffffffffL) << 8 | attempt;
  }

  /** How often a chunk was sent before; -1 if the word is of another chunk. */
  static int attempt(long word, long sync, long number) {
    return word >>> 8 == chunk(sync, number, 0) >>> 8 ? (int) word & 0xff : -1;
  }

  /** The number of a chunk, or of chunks, in a word of this sync; 0 if it is of another. */
  static long number(long word, long sync) {
    return isOf(word, sync) ? word >>> 8 & 0xffffffffL : 0;
  }

  static long status(long sync, int state) {
    return sync(sync) << 40 | state;
  }

  /** Whether a peer has come this far in the sync, or is in a later one. */
  static boolean hasReached(long word, long sync, int state) {
    return isOf(word, sync) ? (int) word >= state && (int) word != ABORT : isLater(word, sync);
  }

  static boolean isAbort(long word, long sync) {
    return isOf(word, sync) && (int) word == ABORT;
  }

  private static boolean isOf(long word, long sync) {
    return word >>> 40 == sync(sync);
  }

  private static boolean isLater(long word, long sync) {
    // The difference of two numbers of 24 bits, with its sign.
    return word != 0 && ((int) ((word >>> 40) - sync(sync)) << 8) > 0;
  }

  private static long sync(long sync) {
    return sync % SYNC_NUMBERS + 1;
  }
}
