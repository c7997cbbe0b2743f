package org.verbena.moe;

/**
 * Conversion between float and bf16, the upper half of a float's bits: 1 sign bit, 8 exponent bits,
 * 7 fraction bits. A bf16 is held in a {@code short}.
 */
public final class Bf16 {
  /** The one NaN that rounding makes: quiet, positive, as PyTorch makes it. */
  static final short NAN = 0x7FC0;

  private Bf16() {}

  /** The float of the same value: exact, a NaN keeps its bits. */
  public static float toFloat(short bf16) {
    return Float.intBitsToFloat(bf16 << 16);
  }

  /**
   * The nearest bf16, ties to even. Values beyond the largest finite bf16 by half a step or more
   * become infinite, infinities stay, every NaN becomes 0x7FC0.
   */
  public static short fromFloat(float value) {
    if (Float.isNaN(value)) {
      return NAN;
    }
    int bits = Float.floatToRawIntBits(value);
    // Just under half a step, and the step's own lowest bit: a carry goes up from a tie to even.
    return (short) ((bits + 0x7FFF + ((bits >>> 16) & 1)) >>> 16);
  }
}
