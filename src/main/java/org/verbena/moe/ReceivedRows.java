package org.verbena.moe;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.verbena.layout.ExchangeShape;

/**
 * The rows that a rank received in one round, where they lie, and which local expert takes which.
 *
 * <p>A <b>row</b> is one token from one rank: H bf16 values (little-endian). Rows are numbered by
 * source rank, and in token order within it. An <b>entry</b> is one use of a row by one local
 * expert, with its weight; entries are numbered by local expert, then row, then place in the
 * token's top-k. A token that names an expert twice has two entries there. Local experts are
 * numbered from 0 in ascending order of their ids.
 *
 * <p>An object of this class belongs to the caller and can be used for round after round: {@link
 * Exchange#receiveDispatch} binds it to one. From the moment when that round's combine is sent
 * every method throws {@link IllegalStateException}, until the object is bound again.
 *
 * <p>Any thread may read; binding, and the end of the round, must be ordered against that by the
 * caller.
 */
public final class ReceivedRows {
  private @Nullable Exchange exchange;
  private @Nullable Round round;
  private long epoch;

  /** Rows of no round yet. */
  public ReceivedRows() {}

  void bind(Exchange exchange, Round round) {
    this.exchange = exchange;
    this.round = round;
    this.epoch = round.epoch;
  }

  /** The round's epoch. */
  public long epoch() {
    return round().epoch;
  }

  /** How many rows came from all ranks. */
  public int rows() {
    return index().rows();
  }

  /** How many rows came from a rank, 0 to T. */
  public int rows(int source) {
    return index().rows(Objects.checkIndex(source, shape().ranks()));
  }

  /** The first row of a rank; its rows follow each other. */
  public int firstRow(int source) {
    return index().firstRow(Objects.checkIndex(source, shape().ranks()));
  }

  /** The rank that a row came from. */
  public int source(int row) {
    return index().source(checkRow(row));
  }

  /** The index of a row's token among those that its source rank dispatched, 0 to T-1. */
  public int token(int row) {
    Exchange owner = exchange();
    long at = owner.receivedOffset(round(), checkRow(row)) + 2L * shape().hidden();
    return owner.receivedMemory(round()).get(ValueLayout.JAVA_INT, at);
  }

  /**
   * The memory that holds all rows, read-only. Between rows there is memory that is not theirs. It
   * can't be read any more after the round, unless the exchange was configured with unguarded
   * views. The first call in a round makes an object; with unguarded views none does.
   */
  public MemorySegment memory() {
    return exchange().receivedView(round());
  }

  /** Where a row begins in {@link #memory}, in bytes; it is 2H bytes long. */
  public long offset(int row) {
    return exchange().receivedOffset(round(), checkRow(row));
  }

  /** Copies a row, 2H bytes. */
  public void copyRow(int row, MemorySegment target, long targetOffset) {
    Exchange owner = exchange();
    MemorySegment.copy(
        owner.receivedMemory(round()),
        owner.receivedOffset(round(), checkRow(row)),
        target,
        targetOffset,
        2L * shape().hidden());
  }

  /** How many experts this rank owns. */
  public int experts() {
    return index().localExperts();
  }

  /** The id of a local expert. */
  public int expertId(int local) {
    return exchange().placement().localExpert(exchange().rank(), checkExpert(local));
  }

  /** How many entries all local experts have. */
  public int entries() {
    return index().entries();
  }

  /** How many entries a local expert has: how often its id appears in the routing of all ranks. */
  public int entries(int local) {
    return index().entries(checkExpert(local));
  }

  /** The first entry of a local expert; its entries follow each other. */
  public int firstEntry(int local) {
    return index().firstEntry(checkExpert(local));
  }

  /** The row of an entry. */
  public int entryRow(int entry) {
    return index().entryRow(checkEntry(entry));
  }

  /** The weight of an entry. */
  public float entryWeight(int entry) {
    return index().entryWeight(checkEntry(entry));
  }

  /** How many entries a row has, at least one. */
  public int entriesOfRow(int row) {
    return index().entriesOfRow(checkRow(row));
  }

  /** An entry of a row, counted in the order of the token's top-k. */
  public int entryOfRow(int row, int i) {
    return index().entryOfRow(checkRow(row), Objects.checkIndex(i, entriesOfRow(row)));
  }

  /**
   * Copies the rows of a local expert, in the order of its entries, into a dense matrix bf16
   * [entries][H].
   *
   * @return the bytes written: 2H times the number of its entries
   */
  public long gather(int local, MemorySegment target, long targetOffset) {
    int first = firstEntry(local);
    int entries = entries(local);
    long rowBytes = 2L * shape().hidden();
    for (int i = 0; i < entries; i++) {
      copyRow(index().entryRow(first + i), target, targetOffset + i * rowBytes);
    }
    return entries * rowBytes;
  }

  private Exchange exchange() {
    round();
    return Objects.requireNonNull(exchange);
  }

  private ExpertIndex index() {
    return round().index;
  }

  private ExchangeShape shape() {
    return exchange().shape();
  }

  private Round round() {
    Round bound = round;
    if (bound == null) {
      throw new IllegalStateException("these rows are of no round yet: receive a dispatch first");
    }
    if (bound.epoch != epoch || !bound.isReceived()) {
      throw new IllegalStateException(
          "the rows of epoch %d have passed: they are valid until the combine of their round is sent"
              .formatted(epoch));
    }
    return bound;
  }

  private int checkRow(int row) {
    return Objects.checkIndex(row, index().rows());
  }

  private int checkEntry(int entry) {
    return Objects.checkIndex(entry, index().entries());
  }

  private int checkExpert(int local) {
    return Objects.checkIndex(local, index().localExperts());
  }
}
