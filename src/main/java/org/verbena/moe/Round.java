package org.verbena.moe;

import org.verbena.layout.ExchangeShape;

/** One round in one half of the buffer: how far it is, and where its rows went and came from. */
final class Round {
  /** How far a round is; in this order. */
  enum Phase {
    FREE,
    DISPATCH_SENT,
    DISPATCH_RECEIVED,
    COMBINE_BEGUN,
    COMBINE_SENT
  }

  final int half;

  /** Rows sent to each peer. */
  final int[] sentRows;

  /** Slot that a token has at a peer, at [token][peer]; -1 where it does not go. */
  final int[] slots;

  /** Token in a slot of a peer, at [peer][slot]. */
  final int[] tokens;

  final long[] dispatchTickets;
  final long[] combineTickets;
  final ExpertIndex index;

  /** Where this round's tokens and finished rows leave from, where they are registered. */
  final InPlace tokensInPlace = new InPlace();

  final InPlace rowsInPlace = new InPlace();

  Phase phase = Phase.FREE;
  long epoch;
  int tokenCount;

  Round(int half, ExchangeShape shape, ExpertPlacement placement, int rank) {
    this.half = half;
    int ranks = shape.ranks();
    int places = Math.multiplyExact(ranks, shape.tokens());
    this.sentRows = new int[ranks];
    this.slots = new int[places];
    this.tokens = new int[places];
    this.dispatchTickets = new long[ranks];
    this.combineTickets = new long[ranks];
    this.index = new ExpertIndex(shape, placement, rank);
  }

  boolean isReceived() {
    return phase == Phase.DISPATCH_RECEIVED || phase == Phase.COMBINE_BEGUN;
  }
}
