package org.verbena.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.layout.LayoutOptions.Kind;

class LayoutOptionsTest {
  private static final LayoutOptions RDMA = LayoutOptions.of(Kind.RDMA);

  @Test
  void startsWithTwoHalvesNotCompactNotScaled() {
    assertThat(RDMA).isEqualTo(new LayoutOptions(Kind.RDMA, 2, false, 1.0));
  }

  @Test
  void changesOneOptionAtATime() {
    assertThat(RDMA.withHalves(1)).isEqualTo(new LayoutOptions(Kind.RDMA, 1, false, 1.0));
    assertThat(RDMA.withCompact(true)).isEqualTo(new LayoutOptions(Kind.RDMA, 2, true, 1.0));
    assertThat(RDMA.withScale(1.5)).isEqualTo(new LayoutOptions(Kind.RDMA, 2, false, 1.5));
  }

  @Test
  void readsTheScaleFromTheEnvironment() {
    assertThat(RDMA.withScaleFrom(Map.of("RDMA_BUFFER_SCALE", "1.25")).scale()).isEqualTo(1.25);
    assertThat(RDMA.withScale(3).withScaleFrom(Map.of("HOME", "/")).scale()).isEqualTo(3);
    assertThat(RDMA.withScaleFrom(Map.of("RDMA_BUFFER_SCALE", " "))).isEqualTo(RDMA);
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 0, 3})
  void refusesOtherNumbersOfHalves(int halves) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RDMA.withHalves(halves))
        .withMessage("halves must be 1 or 2, but is " + halves);
  }

  @ParameterizedTest
  @ValueSource(doubles = {0.999, 0, -1, Double.NaN, Double.POSITIVE_INFINITY})
  void refusesAScaleBelowOneOrNotFinite(double scale) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RDMA.withScale(scale))
        .withMessage("RDMA_BUFFER_SCALE must be a finite number of at least 1, but is " + scale);
  }

  @ParameterizedTest
  @ValueSource(strings = {"two", "NaN", "0.5", "1,5", "-Infinity"})
  void refusesAScaleThatIsWrittenWrong(String scale) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> RDMA.withScaleFrom(Map.of("RDMA_BUFFER_SCALE", scale)))
        .withMessageContainingAll("RDMA_BUFFER_SCALE must be a finite number", scale);
  }
}
