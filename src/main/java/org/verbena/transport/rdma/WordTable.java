package org.verbena.transport.rdma;

/**
 * What was last written to 64-bit words, by their offset; 0 where nothing was. Allocates only while
 * new words come.
 */
final class WordTable {
  private long[] keys = new long[16];
  private long[] values = new long[16];
  private int size;

  /** Offsets are not negative; a key is one more, so that 0 is none. */
  private int place(long offset) {
    long key = offset + 1;
    int place = (int) ((key * 0x9e37_79b9_7f4a_7c15L) >>> 40) & (keys.length - 1);
    while (keys[place] != 0 && keys[place] != key) {
      place = (place + 1) & (keys.length - 1);
    }
    return place;
  }

  long get(long offset) {
    return values[place(offset)];
  }

  void put(long offset, long value) {
    int place = place(offset);
    if (keys[place] == 0) {
      if (size >= keys.length / 2) {
        grow();
        place = place(offset);
      }
      keys[place] = offset + 1;
      size++;
    }
    values[place] = value;
  }

  private void grow() {
    long[] oldKeys = keys;
    long[] oldValues = values;
    keys = new long[oldKeys.length * 2];
    values = new long[keys.length];
    for (int i = 0; i < oldKeys.length; i++) {
      if (oldKeys[i] != 0) {
        int place = place(oldKeys[i] - 1);
        keys[place] = oldKeys[i];
        values[place] = oldValues[i];
      }
    }
  }
}
