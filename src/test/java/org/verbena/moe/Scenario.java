package org.verbena.moe;

import java.time.Duration;
import org.verbena.layout.BufferLayout;
import org.verbena.layout.ExchangeShape;
import org.verbena.layout.LayoutOptions;
import org.verbena.moe.ExchangeConfig.CombineOrder;
import org.verbena.transport.IdleStrategy;

/**
 * What a group does, but for the order in which it does it.
 *
 * @param owners for each expert the rank that owns it
 * @param inPlace whether combines are begun and finished, rather than handed over
 * @param completing whether rows of a combine in place are completed one by one
 * @param batches what each rank puts in, at [rank][round]
 */
@SuppressWarnings("ArrayRecordComponent") // Scenarios are never compared.
record Scenario(
    ExchangeShape shape,
    int[] owners,
    int halves,
    boolean compact,
    CombineOrder combineOrder,
    long chunkBytes,
    long firstEpoch,
    boolean inPlace,
    boolean completing,
    Batch[][] batches) {

  /** The same from another epoch on. */
  Scenario from(long epoch) {
    return new Scenario(
        shape,
        owners,
        halves,
        compact,
        combineOrder,
        chunkBytes,
        epoch,
        inPlace,
        completing,
        batches);
  }

  int ranks() {
    return shape.ranks();
  }

  int rounds() {
    return batches[0].length;
  }

  Batch batch(int rank, long epoch) {
    return batches[rank][(int) (epoch - firstEpoch)];
  }

  BufferLayout layout() {
    return new BufferLayout(shape, new LayoutOptions(LayoutOptions.Kind.RDMA, halves, compact, 1));
  }

  ExchangeConfig config(IdleStrategy idleStrategy) {
    return ExchangeConfig.builder(shape)
        .placement(ExpertPlacement.table(owners, shape.ranks()))
        .halves(halves)
        .compact(compact)
        .scale(1)
        .combineOrder(combineOrder)
        .chunkBytes(chunkBytes)
        .firstEpoch(firstEpoch)
        .timeout(Duration.ofSeconds(30))
        .idleStrategy(idleStrategy)
        .guardedViews(false)
        .build();
  }

  @Override
  public String toString() {
    return "%s, %d rounds from epoch %d, %d halves%s, %s, chunks of %d bytes%s"
        .formatted(
            shape,
            rounds(),
            firstEpoch,
            halves,
            compact ? ", compact" : "",
            combineOrder,
            chunkBytes,
            inPlace ? completing ? ", in place row by row" : ", in place" : "");
  }
}
