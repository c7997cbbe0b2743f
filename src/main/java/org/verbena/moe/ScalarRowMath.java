package org.verbena.moe;

import static java.nio.ByteOrder.LITTLE_ENDIAN;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** Sums of rows where there is no vector module. */
final class ScalarRowMath implements RowMath {
  private static final ValueLayout.OfLong FOUR_COLUMNS =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(LITTLE_ENDIAN);

  @Override
  public void weightedSum(
      MemorySegment out,
      long outOffset,
      int hidden,
      MemorySegment in,
      long[] rows,
      float[] weights,
      int n) {
    sumColumns(out, outOffset, 0, hidden, in, rows, weights, n);
  }

  /** The same for the columns from {@code first}, a multiple of 4, to {@code end}. */
  static void sumColumns(
      MemorySegment out,
      long outOffset,
      int first,
      int end,
      MemorySegment in,
      long[] rows,
      float[] weights,
      int n) {
    for (int column = first; column < end; column += 4) {
      float acc0 = 0;
      float acc1 = 0;
      float acc2 = 0;
      float acc3 = 0;
      for (int i = 0; i < n; i++) {
        long values = in.get(FOUR_COLUMNS, rows[i] + 2L * column);
        float weight = weights[i];
        acc0 = Fma.fma(weight, Float.intBitsToFloat((int) values << 16), acc0);
        acc1 = Fma.fma(weight, Float.intBitsToFloat((int) values & 0xFFFF0000), acc1);
        acc2 = Fma.fma(weight, Float.intBitsToFloat((int) (values >>> 16) & 0xFFFF0000), acc2);
        acc3 = Fma.fma(weight, Float.intBitsToFloat((int) (values >>> 32) & 0xFFFF0000), acc3);
      }
      long sums =
          bits(acc0) | bits(acc1) << 16 | bits(acc2) << 32 | (long) Bf16.fromFloat(acc3) << 48;
      out.set(FOUR_COLUMNS, outOffset + 2L * column, sums);
    }
  }

  private static long bits(float value) {
    return Bf16.fromFloat(value) & 0xFFFFL;
  }
}
