package org.verbena.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExchangeShapeTest {
  @Test
  void takesTheSmallestAndTheLargestSizes() {
    assertThat(new ExchangeShape(1, 1, 8, 1, 1).hidden()).isEqualTo(8);
    int max = Integer.MAX_VALUE;
    assertThat(new ExchangeShape(max, max, max - 7, max, max).topk()).isEqualTo(max);
  }

  @ParameterizedTest
  @CsvSource({
    "0, 1, 8, 1, 1, 'ranks must be at least 1, but is 0'",
    "-3, 1, 8, 1, 1, 'ranks must be at least 1, but is -3'",
    "1, 0, 8, 1, 1, 'tokens must be at least 1, but is 0'",
    "1, 1, 0, 1, 1, 'hidden must be at least 1, but is 0'",
    "1, 1, -8, 1, 1, 'hidden must be at least 1, but is -8'",
    "1, 1, 12, 1, 1, 'hidden must be a multiple of 8, but is 12'",
    "1, 1, 8, 0, 1, 'experts must be at least 1, but is 0'",
    "1, 1, 8, 1, 0, 'topk must be at least 1, but is 0'",
    "1, 1, 8, 3, 4, 'topk must be at most the number of experts, but is 4 of 3'",
  })
  void refusesWithTheValueAndTheRule(
      int ranks, int tokens, int hidden, int experts, int topk, String message) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new ExchangeShape(ranks, tokens, hidden, experts, topk))
        .withMessage(message);
  }
}
