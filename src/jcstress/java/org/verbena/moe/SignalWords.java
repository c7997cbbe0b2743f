package org.verbena.moe;

/**
 * The signal words, for stress tests: what is generated for these lies beside them, and would be
 * exported if they were in this package.
 */
public final class SignalWords {
  private SignalWords() {}

  public static long dispatched(long epoch, int rows) {
    return Signal.dispatched(epoch, rows);
  }

  public static long progress(long epoch, int rows) {
    return Signal.progress(epoch, rows);
  }

  public static long closing(long epoch, int rows) {
    return Signal.closing(epoch, rows);
  }

  public static int flag(long epoch) {
    return Signal.flag(epoch);
  }

  public static int rows(long word) {
    return Signal.rows(word);
  }

  public static boolean isClosing(long word) {
    return Signal.isClosing(word);
  }

  public static boolean isOf(long epoch, long word) {
    return Signal.isOf(epoch, word);
  }
}
