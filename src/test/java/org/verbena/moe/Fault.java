package org.verbena.moe;

import java.lang.foreign.ValueLayout;
import org.verbena.layout.BufferLayout;
import org.verbena.moe.Round.Phase;
import org.verbena.transport.sim.Network;
import org.verbena.transport.sim.SimTransport;

/**
 * A deliberate fault, put under or around an exchange. What is not overridden is the rule as it
 * should be, written here once more so that the exchange's own is held against it.
 */
enum Fault {
  NONE {
    @Override
    CallRules rules() {
      return new CallRules();
    }
  },

  /** Who sent no rows to a peer neither waits for its closing signal nor gets one. */
  CLOSING_ONLY_WHERE_ROWS_WENT {
    @Override
    SimTransport transport(Network network, int rank, BufferLayout layout) {
      return new SimTransport(network, rank) {
        @Override
        public void signalRelease(int peer, long offset, long word) {
          boolean hasRows = Signal.rows(word) > 0;
          if (!Signal.isClosing(word) || hasRows) {
            super.signalRelease(peer, offset, word);
          }
          if (!Signal.isClosing(word) && !hasRows) {
            int half = (int) (offset / layout.halfBytes());
            long closing = Signal.closing(word >>> 32, 0);
            window().set(ValueLayout.JAVA_LONG, layout.combineProgress(half, peer), closing);
          }
        }
      };
    }

    @Override
    boolean isAwaited(Step.Kind kind, int rowsSent) {
      return kind == Step.Kind.RECEIVE_DISPATCH || rowsSent > 0;
    }
  },

  /** Any signal in a word counts, of whatever round it is. */
  SIGNALS_WITHOUT_EPOCH {
    @Override
    SimTransport transport(Network network, int rank, BufferLayout layout) {
      return new SimTransport(network, rank) {
        @Override
        public void signalRelease(int peer, long offset, long word) {
          super.signalRelease(peer, offset, word);
          int half = (int) (offset / layout.halfBytes());
          if (offset == layout.dispatchCount(half, rank)) {
            for (int source = 0; source < size(); source++) {
              adopt(layout.dispatchCount(half, source), word);
              adopt(layout.combineProgress(half, source), word);
            }
          }
        }

        // Makes an earlier round's word look like one of this round.
        private void adopt(long at, long word) {
          int old = (int) window().get(ValueLayout.JAVA_LONG, at);
          if (old != 0) {
            long adopted = (word >>> 32 << 32) | Integer.toUnsignedLong(old);
            window().set(ValueLayout.JAVA_LONG, at, adopted);
          }
        }
      };
    }
  },

  /** A half is used again once its combine was sent, although it was not received. */
  REUSE_AFTER_COMBINE_SENT {
    @Override
    boolean isFree(Phase last) {
      return last == Phase.FREE || last == Phase.COMBINE_SENT;
    }
  },

  /** A half is used again one round early: a round more is in flight than there are halves. */
  REUSE_ONE_ROUND_EARLY {
    @Override
    int inFlight(int halves) {
      return halves + 1;
    }

    @Override
    CallRules rules() {
      return new CallRules() {
        @Override
        boolean isFree(Phase last) {
          return true;
        }
      };
    }
  },

  /** Every write counts as complete at once. */
  COMPLETIONS_IGNORED {
    @Override
    SimTransport transport(Network network, int rank, BufferLayout layout) {
      return new SimTransport(network, rank) {
        @Override
        public boolean isComplete(int peer, long ticket) {
          return true;
        }
      };
    }
  },

  /** A dispatch may be waited for before the combine of the round before was sent. */
  RECEIVE_BEFORE_COMBINE_SENT {
    @Override
    boolean mayReceiveDispatch(Phase before) {
      return true;
    }
  };

  SimTransport transport(Network network, int rank, BufferLayout layout) {
    return new SimTransport(network, rank);
  }

  /** The rules that the exchange follows. */
  CallRules rules() {
    return new CallRules() {
      @Override
      boolean isFree(Phase last) {
        return Fault.this.isFree(last);
      }

      @Override
      boolean mayReceiveDispatch(Phase before) {
        return Fault.this.mayReceiveDispatch(before);
      }
    };
  }

  /** How many rounds may be in flight. */
  int inFlight(int halves) {
    return halves;
  }

  /** Whether a round counts as over, so that another may begin. */
  boolean isFree(Phase last) {
    return last == Phase.FREE;
  }

  /** Whether a dispatch may be waited for, given how far the round before is. */
  boolean mayReceiveDispatch(Phase before) {
    return before == Phase.FREE || before == Phase.COMBINE_SENT;
  }

  /** Whether a call that receives waits for a peer that was sent so many rows. */
  boolean isAwaited(Step.Kind kind, int rowsSent) {
    return true;
  }
}
