package org.verbena.moe;

import org.verbena.moe.Round.Phase;

/**
 * The two rules on the order of calls that other ranks depend on: without the first their data is
 * overwritten, without the second they may wait for each other forever.
 */
class CallRules {
  /** Whether a half may take another round, given how far the last one in it is. */
  boolean isFree(Phase last) {
    return last == Phase.FREE;
  }

  /** Whether a dispatch may be waited for, given how far the round before it is. */
  boolean mayReceiveDispatch(Phase before) {
    return before == Phase.FREE || before == Phase.COMBINE_SENT;
  }
}
