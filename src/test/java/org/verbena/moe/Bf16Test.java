package org.verbena.moe;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class Bf16Test {
  @Test
  void everyBf16SurvivesTheRoundTripAndNansBecomeOne() {
    for (int bits = 0; bits < 1 << 16; bits++) {
      short bf16 = (short) bits;
      float value = Bf16.toFloat(bf16);
      assertThat(Float.floatToRawIntBits(value)).isEqualTo(bits << 16);
      assertThat(Bf16.fromFloat(value)).isEqualTo(Float.isNaN(value) ? (short) 0x7FC0 : bf16);
    }
  }

  /** Each bf16, and the floats on both sides of it and of the middle to the next. */
  @Test
  void roundsToTheNearestAndTiesToEven() {
    int[] tails = {0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
    for (int bits = 0; bits < 1 << 16; bits++) {
      for (int tail : tails) {
        float value = Float.intBitsToFloat(bits << 16 | tail);
        assertThat(Bf16.fromFloat(value)).as("%a", value).isEqualTo(nearest(value));
      }
    }
  }

  @Test
  void infinitiesStayAndLargeFloatsBecomeInfinite() {
    assertThat(Bf16.fromFloat(Float.POSITIVE_INFINITY)).isEqualTo((short) 0x7F80);
    assertThat(Bf16.fromFloat(Float.NEGATIVE_INFINITY)).isEqualTo((short) 0xFF80);
    assertThat(Bf16.fromFloat(Float.MAX_VALUE)).isEqualTo((short) 0x7F80);
    assertThat(Bf16.fromFloat(0x1.fep127f)).isEqualTo((short) 0x7F7F);
    assertThat(Bf16.fromFloat(0x1.fefffep127f)).isEqualTo((short) 0x7F7F);
    assertThat(Bf16.fromFloat(-0f)).isEqualTo((short) 0x8000);
  }

  /** By distance, in double, where each of the numbers and their differences is exact. */
  private static short nearest(float value) {
    if (Float.isNaN(value)) {
      return 0x7FC0;
    }
    int below = (Float.floatToRawIntBits(value) & 0x7FFFFFFF) >> 16;
    double magnitude = Math.abs((double) value);
    double down = magnitude - valueOf(below);
    double up = valueOf(below + 1) - magnitude;
    boolean roundsUp = down > up || (down == up && below % 2 == 1);
    int sign = value < 0 || 1 / value < 0 ? 0x8000 : 0;
    return (short) (sign | (roundsUp ? below + 1 : below));
  }

  /** From exponent and fraction; what would be infinite counts as 2 to the 128. */
  private static double valueOf(int bits) {
    int exponent = bits >> 7;
    int fraction = bits & 0x7F;
    return exponent == 0
        ? Math.scalb((double) fraction, -133)
        : Math.scalb(128.0 + fraction, exponent - 134);
  }
}
