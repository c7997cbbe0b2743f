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

  /** Saves the check of an alignment that is known. */
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;

  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED;

  /** No address of a process is beyond. */
  private static final long BOUND = Long.MAX_VALUE >> 1;

  private Memory() {}

  /** The same address, which the compiler then knows to be in bounds and does not check. */
  static long bounded(long address) {
    return address & BOUND;
  }

  static long getLong(long address) {
    return ALL.get(LONG, address);
  }

  static void setLong(long address, long value) {
    ALL.set(LONG, address, value);
  }

  static int getInt(long address) {
    return ALL.get(INT, address);
  }
}
