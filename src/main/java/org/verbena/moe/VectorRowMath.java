package org.verbena.moe;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Sums of rows in vectors. Each lane of 32 bits holds two columns: the even one becomes a float by
 * a shift, the odd one by a mask, and neither needs to be moved to another lane.
 */
final class VectorRowMath implements RowMath {
  private static final VectorSpecies<Integer> INTS = IntVector.SPECIES_PREFERRED;
  private static final VectorSpecies<Float> FLOATS = INTS.withLanes(float.class);
  private static final int COLUMNS = 2 * INTS.length();
  private static final int UPPER_HALF = 0xFFFF0000;

  /**
   * All memory. Through the caller's segments the compiler would ask at every access whether they
   * are native or mapped, confined or shared, at several times the cost where a process uses both.
   */
  @SuppressWarnings("restricted") // The caller's segments are checked before each use.
  private static final MemorySegment MEMORY = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  @Override
  public void weightedSum(
      MemorySegment out,
      long outOffset,
      int hidden,
      MemorySegment in,
      long[] rows,
      float[] weights,
      int n) {
    for (int i = 0; i < n; i++) {
      check(in, rows[i], hidden);
    }
    check(out, outOffset, hidden);
    if (out.isReadOnly()) {
      throw new IllegalArgumentException("the sum cannot be written to read-only memory");
    }
    long from = in.address();
    long to = out.address() + outOffset;
    int column = 0;
    for (; column <= hidden - COLUMNS; column += COLUMNS) {
      // More vectors at a time are slower: the compiler no longer keeps all sums in registers.
      var even = FloatVector.zero(FLOATS);
      var odd = FloatVector.zero(FLOATS);
      for (int i = 0; i < n; i++) {
        long at = from + rows[i] + 2L * column;
        var values = IntVector.fromMemorySegment(INTS, MEMORY, at, LITTLE_ENDIAN);
        var weight = FloatVector.broadcast(FLOATS, weights[i]);
        even = values.lanewise(VectorOperators.LSHL, 16).reinterpretAsFloats().fma(weight, even);
        odd = values.and(UPPER_HALF).reinterpretAsFloats().fma(weight, odd);
      }
      round(even)
          .lanewise(VectorOperators.LSHR, 16)
          .or(round(odd).and(UPPER_HALF))
          .intoMemorySegment(MEMORY, to + 2L * column, LITTLE_ENDIAN);
    }
    ScalarRowMath.sumColumns(out, outOffset, column, hidden, in, rows, weights, n);
  }

  private static void check(MemorySegment segment, long offset, int hidden) {
    if (!segment.isNative()) {
      throw new IllegalArgumentException("rows must lie in native memory, not on the heap");
    }
    if (!segment.scope().isAlive() || !segment.isAccessibleBy(Thread.currentThread())) {
      throw new IllegalStateException("the memory of a row is closed, or another thread's alone");
    }
    Objects.checkFromIndexSize(offset, 2L * hidden, segment.byteSize());
  }

  /** {@link Bf16#fromFloat} in the upper half of each lane; the lower half holds rubbish. */
  private static IntVector round(FloatVector values) {
    var bits = values.reinterpretAsInts();
    var lowest = bits.lanewise(VectorOperators.LSHR, 16).and(1);
    var isNan = bits.and(0x7FFFFFFF).compare(VectorOperators.GT, 0x7F800000);
    return bits.add(0x7FFF).add(lowest).blend(Bf16.NAN << 16, isNan);
  }
}
