package org.verbena.moe;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.verbena.layout.BufferLayout;
import org.verbena.layout.ExchangeShape;
import org.verbena.transport.Registration;
import org.verbena.transport.Transport;
import org.verbena.transport.Wait;

/** The second half of a round: results back to where the tokens came from, and added up there. */
final class Combine {
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();
  private static final String RECEIVE = "combine receive";

  private final Transport transport;
  private final BufferLayout layout;
  private final ExchangeShape shape;
  private final RowMath math = RowMath.choose();
  private final Wait wait;
  private final Counters counters;
  private final int chunkRows;
  private final boolean anyOrder;
  private final long[] offsets;
  private final float[] weights;
  private final float[] ones;

  /** Rows known to have arrived from each peer. */
  private final int[] arrived;

  /** Rows made complete for each peer, and how many of them were written to it. */
  private final int[] completed;

  private final int[] written;

  /** Whether a row is complete, at [row]; kept only where rows come in any order. */
  private final boolean[] isComplete;

  Combine(
      Transport transport,
      BufferLayout layout,
      Wait wait,
      Counters counters,
      int chunkRows,
      boolean anyOrder) {
    this.transport = transport;
    this.layout = layout;
    this.shape = layout.shape();
    this.wait = wait;
    this.counters = counters;
    this.chunkRows = chunkRows;
    this.anyOrder = anyOrder;
    int most = Math.max(shape.topk(), shape.ranks());
    offsets = new long[most];
    weights = new float[most];
    ones = new float[shape.ranks()];
    Arrays.fill(ones, 1);
    arrived = new int[shape.ranks()];
    completed = new int[shape.ranks()];
    written = new int[shape.ranks()];
    isComplete = new boolean[anyOrder ? shape.ranks() * shape.tokens() : 0];
  }

  private static int channel(Round round) {
    return 2 * round.half + 1;
  }

  /** Waits until rows may be put where they leave from. */
  void begin(Round round) {
    wait.start("combine send", round.epoch);
    for (int peer = 0; peer < shape.ranks(); peer++) {
      // In the compact layout the rows take the memory that dispatches to any peer may still leave.
      while (!transport.isComplete(peer, round.combineTickets[peer])
          || (layout.options().compact()
              && !transport.isComplete(peer, round.dispatchTickets[peer]))) {
        wait.pause(peer);
      }
      completed[peer] = 0;
      written[peer] = 0;
    }
    Arrays.fill(isComplete, false);
  }

  /** Sends all rows, each the weighted sum of its entries in the experts' output. */
  void sendSums(Round round, MemorySegment output) {
    transport.channel(channel(round));
    for (int i = 1; i <= shape.ranks(); i++) {
      int peer = (transport.rank() + i) % shape.ranks();
      int rows = round.index.rows(peer);
      for (int slot = 0; slot < rows; slot++) {
        stageSum(round, peer, slot, output);
        complete(round, peer, slot);
      }
      counters.copied(rows * 2L * shape.hidden());
      close(round, peer);
    }
  }

  /** Sends finished rows, from where they are if they are registered, else from a copy. */
  void sendRows(Round round, MemorySegment finished) {
    transport.channel(channel(round));
    long rowBytes = layout.rowBytes();
    for (int i = 1; i <= shape.ranks(); i++) {
      int peer = (transport.rank() + i) % shape.ranks();
      int rows = round.index.rows(peer);
      long first = round.index.firstRow(peer);
      boolean copied = transport.isDirect(peer) || round.rowsInPlace.memory() == null;
      for (int slot = 0; slot < rows; slot++) {
        if (copied) {
          long at = stageOffset(round.half, peer, slot);
          MemorySegment.copy(
              finished, (first + slot) * rowBytes, transport.stage(peer), at, rowBytes);
        }
        complete(round, peer, slot);
      }
      counters.copied(copied ? rows * rowBytes : 0);
      close(round, peer);
    }
  }

  private void stageSum(Round round, int peer, int slot, MemorySegment output) {
    ExpertIndex index = round.index;
    int row = index.firstRow(peer) + slot;
    int entries = index.entriesOfRow(row);
    for (int i = 0; i < entries; i++) {
      int entry = index.entryOfRow(row, i);
      offsets[i] = entry * 2L * shape.hidden();
      weights[i] = index.entryWeight(entry);
    }
    math.weightedSum(
        transport.stage(peer),
        stageOffset(round.half, peer, slot),
        shape.hidden(),
        output,
        offsets,
        weights,
        entries);
  }

  /** Where a row for a peer leaves from, in what the transport stages for it. */
  long stageOffset(int half, int peer, int slot) {
    return transport.isDirect(peer)
        ? layout.combineReceive(half, transport.rank(), slot)
        : layout.combineSend(half, peer, slot);
  }

  /** A row is where it leaves from: send it, or the chunk that it ends, and say so. */
  void complete(Round round, int peer, int slot) {
    transport.channel(channel(round));
    if (anyOrder) {
      completeAnyOrder(round, peer, slot);
      return;
    }
    if (slot != completed[peer]) {
      throw new IllegalStateException(
          "rank %d: combine send of epoch %d: slot %d for rank %d was completed, the next one is %d"
              .formatted(transport.rank(), round.epoch, slot, peer, completed[peer]));
    }
    int rows = ++completed[peer];
    if (rows - written[peer] == chunkRows && rows < round.index.rows(peer)) {
      write(round, peer, written[peer], chunkRows);
      written[peer] = rows;
      long word = Signal.progress(round.epoch, rows);
      transport.signalRelease(peer, layout.combineProgress(round.half, transport.rank()), word);
      counters.signalled();
    }
  }

  private void completeAnyOrder(Round round, int peer, int slot) {
    int row = round.index.firstRow(peer) + slot;
    if (isComplete[row]) {
      throw new IllegalStateException(
          "rank %d: combine send of epoch %d: slot %d for rank %d was completed before"
              .formatted(transport.rank(), round.epoch, slot, peer));
    }
    isComplete[row] = true;
    completed[peer]++;
    write(round, peer, slot, 1);
    long at = layout.combineFlag(round.half, transport.rank(), slot);
    transport.signalIntRelease(peer, at, Signal.flag(round.epoch));
    counters.signalled();
  }

  /** Completes the rows that are not yet, and sends the closing signals of all peers. */
  void finish(Round round) {
    transport.channel(channel(round));
    for (int i = 1; i <= shape.ranks(); i++) {
      int peer = (transport.rank() + i) % shape.ranks();
      close(round, peer);
    }
  }

  private void close(Round round, int peer) {
    int rows = round.index.rows(peer);
    if (anyOrder) {
      for (int slot = 0; slot < rows; slot++) {
        if (!isComplete[round.index.firstRow(peer) + slot]) {
          completeAnyOrder(round, peer, slot);
        }
      }
    } else {
      for (int first = written[peer]; first < rows; first += chunkRows) {
        write(round, peer, first, Math.min(chunkRows, rows - first));
      }
    }
    long word = Signal.closing(round.epoch, rows);
    transport.signalRelease(peer, layout.combineProgress(round.half, transport.rank()), word);
    counters.signalled();
    counters.combined(rows, rows * 2L * shape.hidden(), peer != transport.rank());
  }

  private void write(Round round, int peer, int slot, int rows) {
    if (transport.isDirect(peer)) {
      return;
    }
    long to = layout.combineReceive(round.half, transport.rank(), slot);
    long bytes = rows * layout.rowBytes();
    Registration from = round.rowsInPlace.memory();
    round.combineTickets[peer] =
        from == null
            ? transport.write(peer, to, layout.combineSend(round.half, peer, slot), bytes)
            : transport.write(peer, to, from, rowInPlace(round, peer, slot), bytes);
  }

  private long rowInPlace(Round round, int peer, int slot) {
    return round.rowsInPlace.start() + (round.index.firstRow(peer) + slot) * layout.rowBytes();
  }

  /** Whether {@link #receive} would not have to wait. */
  boolean isReady(Round round) {
    for (int peer = 0; peer < shape.ranks(); peer++) {
      if (!isClosed(round, peer) || !hasLeft(round, peer)) {
        return false;
      }
    }
    return true;
  }

  /** Whether what is sent to a peer in place has left, so that the engine may change it. */
  private boolean hasLeft(Round round, int peer) {
    return (round.tokensInPlace.memory() == null
            || transport.isComplete(peer, round.dispatchTickets[peer]))
        && (round.rowsInPlace.memory() == null
            || transport.isComplete(peer, round.combineTickets[peer]));
  }

  /** Adds up each token's rows as they arrive, then waits for the closing signals of all peers. */
  void receive(Round round, MemorySegment out) {
    for (int peer = 0; peer < shape.ranks(); peer++) {
      arrived[peer] = 0;
      // The results may go where the tokens or the finished rows are.
      wait.start(RECEIVE, round.epoch);
      while (!hasLeft(round, peer)) {
        wait.pause(peer);
      }
    }
    for (int token = 0; token < round.tokenCount; token++) {
      reduce(round, token, out);
    }
    for (int peer = 0; peer < shape.ranks(); peer++) {
      wait.start(RECEIVE, round.epoch);
      while (!isClosed(round, peer)) {
        wait.pause(peer);
      }
    }
  }

  private void reduce(Round round, int token, MemorySegment out) {
    int ranks = shape.ranks();
    int n = 0;
    for (int peer = 0; peer < ranks; peer++) {
      int slot = round.slots[token * ranks + peer];
      if (slot >= 0) {
        if (!hasArrived(round, peer, slot)) {
          awaitRow(round, peer, slot);
        }
        offsets[n++] = layout.combineReceive(round.half, peer, slot);
      }
    }
    // An fma with weight 1 is a plain addition.
    math.weightedSum(
        out, token * 2L * shape.hidden(), shape.hidden(), transport.window(), offsets, ones, n);
  }

  private void awaitRow(Round round, int peer, int slot) {
    wait.start(RECEIVE, round.epoch);
    do {
      wait.pause(peer);
    } while (!hasArrived(round, peer, slot));
  }

  private boolean hasArrived(Round round, int peer, int slot) {
    if (anyOrder) {
      long at = layout.combineFlag(round.half, peer, slot);
      return (int) INT.getAcquire(transport.window(), at) == Signal.flag(round.epoch);
    }
    if (slot < arrived[peer]) {
      return true;
    }
    long word = word(round, peer);
    if (Signal.isOf(round.epoch, word)) {
      arrived[peer] = checkedRows(round, peer, word);
    }
    return slot < arrived[peer];
  }

  private boolean isClosed(Round round, int peer) {
    long word = word(round, peer);
    if (!Signal.isOf(round.epoch, word) || !Signal.isClosing(word)) {
      return false;
    }
    checkedRows(round, peer, word);
    return true;
  }

  private int checkedRows(Round round, int peer, long word) {
    int rows = Signal.rows(word);
    int sent = round.sentRows[peer];
    if (rows < 0 || rows > sent || (Signal.isClosing(word) && rows != sent)) {
      throw wrongCount(round, peer, rows);
    }
    return rows;
  }

  private ExchangeException wrongCount(Round round, int peer, int rows) {
    return new ExchangeException(
        peer,
        "rank %d: combine receive of epoch %d: rank %d says that it sent %d rows, but was sent %d"
            .formatted(transport.rank(), round.epoch, peer, rows, round.sentRows[peer]));
  }

  private long word(Round round, int peer) {
    long word =
        (long) LONG.getAcquire(transport.window(), layout.combineProgress(round.half, peer));
    if (Signal.isLater(round.epoch, word)) {
      throw new ExchangeException(
          peer,
          "rank %d: combine receive of epoch %d: rank %d has signalled a later epoch (%#x)"
              .formatted(transport.rank(), round.epoch, peer, word));
    }
    return word;
  }

  /**
   * Clears this half's flags, so that none is taken for one of 2^31 rounds ago. The peers do so in
   * the same round, before they receive this rank's dispatch and so before this rank's combine.
   */
  void clearFlags(Round round) {
    for (int peer = 0; peer < shape.ranks(); peer++) {
      for (int slot = 0; slot < shape.tokens(); slot++) {
        INT.setRelease(transport.window(), layout.combineFlag(round.half, peer, slot), 0);
        transport.resetSignal(peer, layout.combineFlag(round.half, transport.rank(), slot));
      }
    }
  }
}
