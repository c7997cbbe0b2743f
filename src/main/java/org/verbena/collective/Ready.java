package org.verbena.collective;

/**
 * The signal that a message is there: the low half of its number in the high half of the word, its
 * length plus 1 in the low half, so that an untouched word is no signal. A slot holds one message
 * at a time, so that a word of another number is an earlier message's.
 */
final class Ready {
  private Ready() {}

  static long word(long number, int bytes) {
    return number << 32 | Integer.toUnsignedLong(bytes + 1);
  }

  static boolean isOf(long number, long word) {
    return (int) (word >>> 32) == (int) number && (int) word != 0;
  }

  static int bytes(long word) {
    return (int) word - 1;
  }
}
