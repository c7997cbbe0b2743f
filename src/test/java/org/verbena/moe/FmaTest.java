package org.verbena.moe;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class FmaTest {
  private final long seed = Long.getLong("verbena.seed", System.nanoTime());
  private final Random random = new Random(seed);

  @Test
  void emulationGivesTheBitsOfTheInstruction() {
    System.out.println("FmaTest: -Dverbena.seed=" + seed);
    check(() -> Float.intBitsToFloat(random.nextInt()));
    // Few fraction bits: many sums fall on a middle between two floats.
    check(() -> Math.scalb(random.nextInt(-8, 9), random.nextInt(-30, 30)));
    // Products and sums around the smallest floats, and around the largest.
    check(() -> Math.scalb(random.nextInt(-512, 513), random.nextInt(-80, -60)));
    check(() -> Math.scalb(random.nextInt(-512, 513), random.nextInt(50, 60)));
  }

  /**
   * Products a little above and below half a step of the third number, so little that the sum in
   * double is the middle itself: a second rounding then goes to even instead of up or down.
   */
  @Test
  void emulationRoundsOnce() {
    System.out.println("FmaTest: -Dverbena.seed=" + seed);
    int wrongIfRoundedTwice = 0;
    for (int i = 0; i < 500_000; i++) {
      float a = 1 + random.nextInt(1 << 23) * 0x1p-23f;
      float b = (float) (1.0 / a);
      boolean subnormal = random.nextBoolean();
      int half = subnormal ? -75 : -12;
      float c = (1 + random.nextInt(1 << 23) * 0x1p-23f) * (subnormal ? 0x1p-127f : 1);
      float sign = random.nextBoolean() ? 1 : -1;
      float scaledA = Math.scalb(a, half);
      float scaledB = sign * Math.scalb(b, half);
      float expected = Math.fma(scaledA, scaledB, c);
      assertSame(expected, scaledA, scaledB, c);
      if ((float) ((double) scaledA * scaledB + c) != expected) {
        wrongIfRoundedTwice++;
      }
    }
    assertThat(wrongIfRoundedTwice).isGreaterThan(1000);
    assertThat(Fma.emulate(0x1p-100f, -0x1p-100f, 0)).isEqualTo(-0f);
  }

  private void check(Supplier<Float> source) {
    for (int i = 0; i < 500_000; i++) {
      float a = source.get();
      float b = source.get();
      float c = random.nextBoolean() ? source.get() : a * b * random.nextInt(-2, 3);
      assertSame(Math.fma(a, b, c), a, b, c);
    }
  }

  private static void assertSame(float expected, float a, float b, float c) {
    float found = Fma.emulate(a, b, c);
    if (Float.floatToIntBits(expected) != Float.floatToIntBits(found)) {
      assertThat(found).as("fma(%a, %a, %a)", a, b, c).isEqualTo(expected);
    }
  }
}
