package org.verbena.layout;

/**
 * The sizes that all ranks of an exchange agree on.
 *
 * @param ranks R, the number of ranks, at least 1
 * @param tokens T, the most tokens that one rank sends in one round, at least 1
 * @param hidden H, the bf16 values of one token, a positive multiple of 8
 * @param experts E, the number of experts of all ranks together, at least 1
 * @param topk K, the experts chosen per token, from 1 to E
 */
public record ExchangeShape(int ranks, int tokens, int hidden, int experts, int topk) {
  /**
   * Checks the sizes.
   *
   * @throws IllegalArgumentException naming the value and the rule it breaks
   */
  public ExchangeShape {
    requirePositive("ranks", ranks);
    requirePositive("tokens", tokens);
    requirePositive("hidden", hidden);
    if (hidden % 8 != 0) {
      throw new IllegalArgumentException("hidden must be a multiple of 8, but is " + hidden);
    }
    requirePositive("experts", experts);
    requirePositive("topk", topk);
    if (topk > experts) {
      throw new IllegalArgumentException(
          "topk must be at most the number of experts, but is " + topk + " of " + experts);
    }
  }

  private static void requirePositive(String name, int value) {
    if (value < 1) {
      throw new IllegalArgumentException(name + " must be at least 1, but is " + value);
    }
  }
}
