package org.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Native memory by its address, unchecked: for slabs whose owner is reachable and whose offsets
 * were checked before. A constant segment without bounds costs what the access itself costs.
 */
@SuppressWarnings("restricted")
final class Memory {
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private Memory() {}

  static long getLong(long address) {
    return ALL.get(ValueLayout.JAVA_LONG, address);
  }

  static void setLong(long address, long value) {
    ALL.set(ValueLayout.JAVA_LONG, address, value);
  }

  static int getInt(long address) {
    return ALL.get(ValueLayout.JAVA_INT, address);
  }
}
