package org.verbena.acceptance;

import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import org.verbena.layout.ExchangeShape;

/**
 * What one rank puts into one round. Every rank can make every other's sample, from the same seed.
 */
final class Sample {
  /** What the tokens hold. */
  enum Content {
    /** The source rank's number, and in the last columns the token's. */
    RECOGNISABLE,
    /** Normal noise times 0.1. */
    NOISE
  }

  private static final int MOST_MASKED = 10;

  final int count;

  /** bf16 [count][H]. */
  final short[] tokens;

  /** [count][K], -1 for none. */
  final int[] experts;

  /** [count][K]. */
  final float[] weights;

  private Sample(int count, int hidden, int topk) {
    this.count = count;
    this.tokens = new short[count * hidden];
    this.experts = new int[count * topk];
    this.weights = new float[count * topk];
  }

  static Sample of(ExchangeShape shape, int rank, int count, Content content, long seed) {
    Sample sample = new Sample(count, shape.hidden(), shape.topk());
    RandomGenerator random = new SplittableRandom(seed * 1_000_003 + rank);
    sample.fillTokens(shape, rank, content, random);
    sample.fillRouting(shape, random);
    return sample;
  }

  /** How many of the last columns hold the token's number. */
  static int markedColumns(int hidden) {
    return hidden < 256 ? hidden / 2 : 128;
  }

  private void fillTokens(ExchangeShape shape, int rank, Content content, RandomGenerator random) {
    int hidden = shape.hidden();
    int marked = markedColumns(hidden);
    for (int token = 0; token < count; token++) {
      for (int column = 0; column < hidden; column++) {
        float value =
            switch (content) {
              case RECOGNISABLE -> column < hidden - marked ? rank - 128 : token % 256;
              case NOISE -> (float) (random.nextGaussian() * 0.1);
            };
        tokens[token * hidden + column] = nearest(value);
      }
    }
  }

  /** Each token's experts are those of the largest random scores, so all are different. */
  private void fillRouting(ExchangeShape shape, RandomGenerator random) {
    int topk = shape.topk();
    double[] scores = new double[shape.experts()];
    for (int token = 0; token < count; token++) {
      for (int expert = 0; expert < scores.length; expert++) {
        scores[expert] = Math.abs(random.nextGaussian()) + 1;
      }
      for (int k = 0; k < topk; k++) {
        int best = 0;
        for (int expert = 1; expert < scores.length; expert++) {
          best = scores[expert] > scores[best] ? expert : best;
        }
        scores[best] = 0;
        experts[token * topk + k] = best;
        weights[token * topk + k] = (float) Math.abs(random.nextGaussian());
      }
    }
    for (int i = 0; i < Math.min(MOST_MASKED, experts.length / 4); i++) {
      experts[random.nextInt(experts.length)] = -1;
    }
  }

  /** The nearest bf16, found by looking at both neighbours; for finite numbers. */
  static short nearest(float value) {
    int below = Float.floatToRawIntBits(value) >>> 16;
    int above = below + 1;
    double toBelow = Math.abs((double) value - number((short) below));
    double toAbove = Math.abs((double) value - number((short) above));
    boolean up = toAbove < toBelow || (toAbove == toBelow && (below & 1) == 1);
    return (short) (up ? above : below);
  }

  static float number(short bf16) {
    return Float.intBitsToFloat(bf16 << 16);
  }
}
