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

  @Test
  void emulationRoundsOnce() {
    // 1 + 2^-24 is a middle; the rest of the exact sum, 2^-60, decides.
    float half = 0x1p-24f;
    float more = Math.nextUp(half);
    assertThat(Fma.emulate(half, 1, 1)).isEqualTo(1f);
    assertThat(Fma.emulate(more, 1, 1)).isEqualTo(Math.nextUp(1f));
    assertThat(Fma.emulate(0x1.000002p-12f, 0x1.000002p-12f, 1)).isEqualTo(Math.nextUp(1f));
    assertThat(Fma.emulate(0x1.000002p-12f, 0x1.fffffcp-13f, 1))
        .isEqualTo(Math.fma(0x1.000002p-12f, 0x1.fffffcp-13f, 1f));
    assertThat(Fma.emulate(0x1p-100f, -0x1p-100f, 0)).isEqualTo(-0f);
  }

  private void check(Supplier<Float> source) {
    for (int i = 0; i < 500_000; i++) {
      float a = source.get();
      float b = source.get();
      float c = random.nextBoolean() ? source.get() : a * b * random.nextInt(-2, 3);
      float expected = Math.fma(a, b, c);
      float found = Fma.emulate(a, b, c);
      if (Float.floatToIntBits(expected) != Float.floatToIntBits(found)) {
        assertThat(found).as("fma(%a, %a, %a)", a, b, c).isEqualTo(expected);
      }
    }
  }
}
