package org.verbena.moe;

/** What can happen next in a {@link Simulation}. */
sealed interface Step {
  /** A rank makes a call. */
  record Call(int rank, Kind kind, long epoch) implements Step {
    @Override
    public String toString() {
      return "rank %d %s of %d".formatted(rank, kind, epoch);
    }
  }

  /** The calls of a round. */
  enum Kind {
    SEND_DISPATCH,
    RECEIVE_DISPATCH,
    SEND_COMBINE,
    BEGIN_COMBINE,
    FINISH_COMBINE,
    RECEIVE_COMBINE;

    boolean isReceive() {
      return this == RECEIVE_DISPATCH || this == RECEIVE_COMBINE;
    }
  }

  /** The next message from one rank to another arrives. */
  record Delivery(int source, int target) implements Step {
    @Override
    public String toString() {
      return "deliver %d to %d".formatted(source, target);
    }
  }

  /** A sender learns that its oldest write to a rank is complete. */
  record Completion(int source, int target) implements Step {
    @Override
    public String toString() {
      return "complete %d to %d".formatted(source, target);
    }
  }
}
