package org.verbena.moe;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import org.verbena.layout.BufferLayout;
import org.verbena.layout.ExchangeShape;
import org.verbena.transport.Registration;
import org.verbena.transport.Transport;
import org.verbena.transport.Wait;

/** The first half of a round: tokens to the ranks that own their experts. */
final class Dispatch {
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

  private final Transport transport;
  private final BufferLayout layout;
  private final ExchangeShape shape;
  private final ExpertPlacement placement;
  private final Wait wait;
  private final Counters counters;
  private final int chunkRows;

  Dispatch(
      Transport transport,
      BufferLayout layout,
      ExpertPlacement placement,
      Wait wait,
      Counters counters,
      int chunkRows) {
    this.transport = transport;
    this.layout = layout;
    this.shape = layout.shape();
    this.placement = placement;
    this.wait = wait;
    this.counters = counters;
    this.chunkRows = chunkRows;
  }

  /** Waits until the send region of this half may be written again. */
  void awaitOwnWrites(Round round, long epoch) {
    wait.start("dispatch send", epoch);
    for (int peer = 0; peer < shape.ranks(); peer++) {
      // In the compact layout the last combine may still leave from the same memory.
      while (!transport.isComplete(peer, round.dispatchTickets[peer])
          || (layout.options().compact()
              && !transport.isComplete(peer, round.combineTickets[peer]))) {
        wait.pause(peer);
      }
    }
  }

  /** Sends a routed round: to each peer its rows, then how many they were. */
  void send(Round round, MemorySegment tokens, MemorySegment experts, MemorySegment weights) {
    transport.channel(2 * round.half);
    for (int i = 1; i <= shape.ranks(); i++) {
      // Each rank begins with another peer, so that not all write to the same one.
      int peer = (transport.rank() + i) % shape.ranks();
      sendRows(round, peer, tokens, experts, weights);
      long count = Signal.dispatched(round.epoch, round.sentRows[peer]);
      transport.signalRelease(peer, layout.dispatchCount(round.half, transport.rank()), count);
      counters.signalled();
    }
  }

  private void sendRows(
      Round round, int peer, MemorySegment tokens, MemorySegment experts, MemorySegment weights) {
    int rows = round.sentRows[peer];
    boolean direct = transport.isDirect(peer);
    Registration from = direct ? null : round.tokensInPlace.memory();
    long rowBytes = 2L * shape.hidden();
    long staged = 0;
    for (int first = 0; first < rows; first += chunkRows) {
      int end = Math.min(rows, first + chunkRows);
      for (int slot = first; slot < end; slot++) {
        int token = round.tokens[peer * shape.tokens() + slot];
        long at = messageOffset(round.half, peer, slot);
        if (from == null) {
          MemorySegment.copy(tokens, token * rowBytes, transport.stage(peer), at, rowBytes);
        }
        transport.stage(peer).set(ValueLayout.JAVA_INT, at + layout.tokenIndexOffset(), token);
        staged += stageRouting(round.half, peer, slot, experts, weights, token);
      }
      if (!direct) {
        if (from == null) {
          writeMessages(round.half, peer, first, end - first);
        } else {
          writeInPlace(round, peer, first, end, from);
        }
        round.dispatchTickets[peer] = writeRouting(round.half, peer, first, end - first);
      }
    }
    staged += (long) rows * Integer.BYTES;
    counters.copied(from == null ? staged + rows * rowBytes : staged);
    counters.dispatched(rows, staged + rows * rowBytes, peer != transport.rank());
  }

  /** Where a message for a peer is put together. */
  private long messageOffset(int half, int peer, int slot) {
    return transport.isDirect(peer)
        ? layout.dispatchReceive(half, transport.rank(), slot)
        : layout.dispatchSend(half, peer, slot);
  }

  /** Only the entries that this peer needs, in top-k order; -1 ends a list shorter than K. */
  private long stageRouting(
      int half, int peer, int slot, MemorySegment experts, MemorySegment weights, int token) {
    long first =
        transport.isDirect(peer)
            ? layout.routingReceive(half, transport.rank(), slot)
            : layout.routingSend(half, peer, slot);
    int topk = shape.topk();
    MemorySegment stage = transport.stage(peer);
    long at = first;
    for (int k = 0; k < topk; k++) {
      long i = (long) token * topk + k;
      int expert = experts.getAtIndex(ValueLayout.JAVA_INT, i);
      if (expert >= 0 && placement.owner(expert) == peer) {
        stage.set(ValueLayout.JAVA_INT, at, expert);
        stage.set(ValueLayout.JAVA_FLOAT, at + 4, weights.getAtIndex(ValueLayout.JAVA_FLOAT, i));
        at += BufferLayout.ENTRY_BYTES;
      }
    }
    if (at < first + layout.entriesBytes()) {
      stage.set(ValueLayout.JAVA_INT, at, -1);
    }
    return at - first;
  }

  private void writeMessages(int half, int peer, int slot, int rows) {
    transport.write(
        peer,
        layout.dispatchReceive(half, transport.rank(), slot),
        layout.dispatchSend(half, peer, slot),
        rows * layout.messageBytes());
  }

  /** Each message is gathered from a row where it lies, and what follows it in the send region. */
  private void writeInPlace(Round round, int peer, int first, int end, Registration from) {
    long rowBytes = 2L * shape.hidden();
    long start = round.tokensInPlace.start();
    for (int slot = first; slot < end; slot++) {
      int token = round.tokens[peer * shape.tokens() + slot];
      long at = layout.dispatchReceive(round.half, transport.rank(), slot);
      transport.write(peer, at, from, start + token * rowBytes, rowBytes);
      transport.write(
          peer,
          at + rowBytes,
          layout.dispatchSend(round.half, peer, slot) + rowBytes,
          layout.messageBytes() - rowBytes);
    }
  }

  private long writeRouting(int half, int peer, int slot, int rows) {
    return transport.write(
        peer,
        layout.routingReceive(half, transport.rank(), slot),
        layout.routingSend(half, peer, slot),
        rows * layout.entriesBytes());
  }

  /** Whether {@link #receive} would not have to wait. */
  boolean isReady(Round round) {
    for (int peer = 0; peer < shape.ranks(); peer++) {
      if (!hasArrived(round, peer)) {
        return false;
      }
    }
    return true;
  }

  /** Waits for all peers' rows and indexes them. */
  void receive(Round round) {
    for (int peer = 0; peer < shape.ranks(); peer++) {
      wait.start("dispatch receive", round.epoch);
      while (!hasArrived(round, peer)) {
        wait.pause(peer);
      }
      round.index.addRows(peer, rows(round, peer));
    }
    round.index.build(layout, round.half, transport.window());
  }

  private boolean hasArrived(Round round, int peer) {
    long word = word(round, peer);
    if (Signal.isLater(round.epoch, word)) {
      throw new ExchangeException(
          peer,
          "rank %d: dispatch receive of epoch %d: rank %d has signalled a later epoch (%#x)"
              .formatted(transport.rank(), round.epoch, peer, word));
    }
    return Signal.isOf(round.epoch, word);
  }

  private int rows(Round round, int peer) {
    int rows = Signal.rows(word(round, peer));
    if (rows < 0 || rows > shape.tokens()) {
      throw new ExchangeException(
          peer,
          "rank %d: dispatch receive of epoch %d: rank %d says that it sent %d rows, at most %d can be"
              .formatted(transport.rank(), round.epoch, peer, rows, shape.tokens()));
    }
    return rows;
  }

  private long word(Round round, int peer) {
    return (long) LONG.getAcquire(transport.window(), layout.dispatchCount(round.half, peer));
  }
}
