package org.verbena.moe;

import static java.lang.System.Logger.Level.DEBUG;
import static java.lang.System.Logger.Level.WARNING;

import java.lang.foreign.MemorySegment;

/**
 * Weighted sums of bf16 rows, scalar or vectorised; both give the same bits. Instances have no
 * state and are safe for use by any thread. They allocate nothing on the heap, the vectorised one
 * once Java has compiled it.
 */
interface RowMath {
  /**
   * Adds up rows, column by column: {@code acc = 0}, then {@code acc = fma(weight, value, acc)} in
   * float for each row in order, then one rounding to bf16 as by {@link Bf16#fromFloat}. No rows
   * give zeros. Weights of 1 make it the plain float sum, for then an fma only rounds value + acc.
   *
   * <p>No other thread may close the memory meanwhile: not every access is checked.
   *
   * @param out where the sum goes; it may be one of the rows
   * @param outOffset its first byte in {@code out}
   * @param hidden the number of columns, a positive multiple of 8
   * @param in holds the rows: bf16, little-endian; native memory, as is {@code out}
   * @param rows the first bytes of the rows in {@code in}
   * @param weights their weights
   * @param n the number of rows; further elements of {@code rows} and {@code weights} are ignored
   * @throws IndexOutOfBoundsException if a row leaves its segment
   */
  void weightedSum(
      MemorySegment out,
      long outOffset,
      int hidden,
      MemorySegment in,
      long[] rows,
      float[] weights,
      int n);

  /**
   * The fastest sums that this Java runtime offers, or the scalar ones if the system property
   * {@code verbena.vector} is false. Logs why they are scalar.
   */
  static RowMath choose() {
    var logger = System.getLogger(RowMath.class.getName());
    if (System.getProperty("verbena.vector", "true").equals("false")) {
      logger.log(DEBUG, "Sums of rows are scalar: verbena.vector is false");
      return new ScalarRowMath();
    }
    var module = ModuleLayer.boot().findModule("jdk.incubator.vector");
    if (module.filter(RowMath.class.getModule()::canRead).isEmpty()) {
      logger.log(
          WARNING,
          "Sums of rows are scalar and slow: start Java with --add-modules jdk.incubator.vector");
      return new ScalarRowMath();
    }
    if (!RowMath.class.getModule().isNativeAccessEnabled()) {
      logger.log(
          WARNING,
          "Sums of rows are scalar and slow: start Java with --enable-native-access=org.verbena");
      return new ScalarRowMath();
    }
    if (!Fma.IN_HARDWARE) {
      logger.log(
          WARNING, "Sums of rows are scalar and slow: the processor has no fused multiply-add");
      return new ScalarRowMath();
    }
    logger.log(DEBUG, "Sums of rows are vectorised");
    return new VectorRowMath();
  }
}
