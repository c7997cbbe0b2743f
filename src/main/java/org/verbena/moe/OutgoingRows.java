package org.verbena.moe;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Where an engine writes finished rows in place, each already weighted and summed over the local
 * experts of its row: H bf16 values (little-endian) for each row received, in the memory that it
 * leaves from. Rows are numbered as in {@link ReceivedRows}.
 *
 * <p>An object of this class belongs to the caller and can be used for round after round: {@link
 * Exchange#beginCombine} binds it to one. After {@link Exchange#finishCombine} of that round every
 * method throws {@link IllegalStateException}, until the object is bound again.
 *
 * <p>Any thread may write rows; {@link #complete} takes part in the exchange and follows its rule,
 * one thread at a time.
 */
public final class OutgoingRows {
  private @Nullable Exchange exchange;
  private @Nullable Round round;
  private long epoch;

  /** Rows of no round yet. */
  public OutgoingRows() {}

  void bind(Exchange exchange, Round round) {
    this.exchange = exchange;
    this.round = round;
    this.epoch = round.epoch;
  }

  /**
   * The memory that a rank's rows leave from. It can't be written any more after the round, unless
   * the exchange was configured with unguarded views; then no call makes an object.
   */
  public MemorySegment memory(int source) {
    Round bound = round();
    return exchange().outgoingView(bound, Objects.checkIndex(source, exchange().shape().ranks()));
  }

  /** Where a row begins in the {@link #memory} of its source, in bytes; it is 2H bytes long. */
  public long offset(int row) {
    ExpertIndex index = round().index;
    int source = index.source(Objects.checkIndex(row, index.rows()));
    return exchange().outgoingOffset(row - index.firstRow(source));
  }

  /**
   * Says that a row is written and may be sent. Optional: what was not completed is with {@link
   * Exchange#finishCombine}. Rows of one source are completed in their order, or in any order if
   * the exchange was configured so.
   *
   * @throws IllegalStateException if it is not this row's turn, or was before
   */
  public void complete(int row) {
    exchange().completeRow(round(), row);
  }

  private Exchange exchange() {
    round();
    return Objects.requireNonNull(exchange);
  }

  private Round round() {
    Round bound = round;
    if (bound == null) {
      throw new IllegalStateException("these rows are of no round yet: begin a combine first");
    }
    if (bound.epoch != epoch || bound.phase != Round.Phase.COMBINE_BEGUN) {
      throw new IllegalStateException(
          "the outgoing rows of epoch %d have passed: they are valid until their combine is finished"
              .formatted(epoch));
    }
    return bound;
  }
}
