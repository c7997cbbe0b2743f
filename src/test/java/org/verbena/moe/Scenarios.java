package org.verbena.moe;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.ExchangeConfig.CombineOrder;

/** Scenarios small enough to try everything, and larger ones by chance. */
final class Scenarios {
  /** Where small epochs, words of half 0, clearings of flags and overflows are near. */
  private static final long[] FIRST_EPOCHS = {
    1, Signal.FLAG_PERIOD - 2, (1L << 31) - 3, (1L << 32) - 3, 3 * Signal.FLAG_PERIOD - 1
  };

  private Scenarios() {}

  /**
   * One token and one expert per rank. Round after round takes the next of the patterns, of which
   * bit R * i + j says that rank i has a row for rank j.
   */
  static Scenario tiny(
      int ranks, int rounds, int halves, boolean compact, CombineOrder order, int... patterns) {
    return tiny(ranks, 1, rounds, halves, compact, order, false, patterns);
  }

  /** The same with two tokens, which travel in chunks of one. */
  static Scenario tinyChunks(int ranks, int rounds, CombineOrder order, int... patterns) {
    return tiny(ranks, 2, rounds, 2, true, order, false, patterns);
  }

  /** The same with combines in place. */
  static Scenario tinyInPlace(int ranks, int rounds, CombineOrder order, int... patterns) {
    return tiny(ranks, 1, rounds, 2, true, order, true, patterns);
  }

  private static Scenario tiny(
      int ranks,
      int tokens,
      int rounds,
      int halves,
      boolean compact,
      CombineOrder order,
      boolean inPlace,
      int... patterns) {
    ExchangeShape shape = new ExchangeShape(ranks, tokens, 8, ranks, ranks);
    int[] owners = IntStream.range(0, ranks).toArray();
    Random random = new Random(7);
    Batch[][] batches = new Batch[ranks][rounds];
    for (int rank = 0; rank < ranks; rank++) {
      for (int round = 0; round < rounds; round++) {
        int targets = (patterns[round % patterns.length] >> (rank * ranks)) & ((1 << ranks) - 1);
        int[] ids = new int[targets == 0 ? 0 : tokens * ranks];
        Arrays.setAll(ids, i -> ((targets >> (i % ranks)) & 1) == 1 ? i % ranks : -1);
        batches[rank][round] = new Batch(shape, owners, ids, random);
      }
    }
    return new Scenario(shape, owners, halves, compact, order, 16, 1, inPlace, inPlace, batches);
  }

  /** Up to 5 ranks and 8 rounds, of any shape, routing and setting. */
  static Scenario random(Random random) {
    int ranks = 1 + random.nextInt(5);
    int experts = 1 + random.nextInt(2 * ranks + 1);
    ExchangeShape shape =
        new ExchangeShape(
            ranks,
            1 + random.nextInt(4),
            8 * (1 + random.nextInt(2)),
            experts,
            1 + random.nextInt(Math.min(3, experts)));
    int[] owners = random.ints(shape.experts(), 0, ranks).toArray();
    Batch[][] batches = new Batch[ranks][6 + random.nextInt(3)];
    int silence = random.nextInt(3);
    for (Batch[] ofRank : batches) {
      Arrays.setAll(ofRank, _ -> batch(shape, owners, silence, random));
    }
    boolean inPlace = random.nextBoolean();
    return new Scenario(
        shape,
        owners,
        random.nextInt(4) == 0 ? 1 : 2,
        random.nextBoolean(),
        random.nextBoolean() ? CombineOrder.IN_ORDER : CombineOrder.ANY_ORDER,
        1 + random.nextInt(4 * 16 * shape.hidden() / 8),
        FIRST_EPOCHS[random.nextInt(FIRST_EPOCHS.length)],
        inPlace,
        inPlace && random.nextBoolean(),
        batches);
  }

  private static Batch batch(ExchangeShape shape, int[] owners, int silence, Random random) {
    int tokens = random.nextInt(3) < silence ? 0 : random.nextInt(shape.tokens() + 1);
    int[] ids = random.ints((long) tokens * shape.topk(), -1, shape.experts()).toArray();
    return new Batch(shape, owners, ids, random);
  }
}
