package org.verbena.moe;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.verbena.layout.ExchangeShape;

/** Finds the ranks that each token goes to: once to each that owns at least one of its experts. */
final class Router {
  private final ExchangeShape shape;
  private final ExpertPlacement placement;
  private final int rank;

  Router(ExchangeShape shape, ExpertPlacement placement, int rank) {
    this.shape = shape;
    this.placement = placement;
    this.rank = rank;
  }

  /**
   * Refuses ids that are no experts.
   *
   * @param experts int32 [count][K], -1 for none
   */
  void check(MemorySegment experts, int count) {
    for (long i = 0; i < (long) count * shape.topk(); i++) {
      int expert = experts.getAtIndex(ValueLayout.JAVA_INT, i);
      if (expert < -1 || expert >= shape.experts()) {
        throw new IllegalArgumentException(
            "rank %d: dispatch: token %d has expert %d in place %d of its top-k; ids are 0 to %d, or -1"
                    .formatted(
                        rank, i / shape.topk(), expert, i % shape.topk(), shape.experts() - 1)
                + " for none");
      }
    }
  }

  /** Gives each token its slot at each rank that it goes to, in token order. */
  void route(Round round, MemorySegment experts, int count) {
    int ranks = shape.ranks();
    int topk = shape.topk();
    Arrays.fill(round.sentRows, 0);
    Arrays.fill(round.slots, 0, count * ranks, -1);
    for (int token = 0; token < count; token++) {
      for (int k = 0; k < topk; k++) {
        int expert = experts.getAtIndex(ValueLayout.JAVA_INT, (long) token * topk + k);
        if (expert >= 0) {
          place(round, token, placement.owner(expert));
        }
      }
    }
    round.tokenCount = count;
  }

  private void place(Round round, int token, int peer) {
    int at = token * shape.ranks() + peer;
    if (round.slots[at] < 0) {
      int slot = round.sentRows[peer]++;
      round.slots[at] = slot;
      round.tokens[peer * shape.tokens() + slot] = token;
    }
  }
}
