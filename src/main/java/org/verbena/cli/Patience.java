package org.verbena.cli;

import java.io.IOException;
import java.time.Duration;

/** The end of a wait that polls; looks at the clock so seldom that it does not slow the polling. */
final class Patience {
  static final Duration LIMIT = Duration.ofSeconds(30);

  private static final int POLLS_PER_CLOCK = 1 << 14;

  private long deadline;

  /** To be called with each vain poll, which are counted from 1. */
  void check(long polls, String what) throws IOException {
    if (polls % POLLS_PER_CLOCK == 0) {
      long now = System.nanoTime();
      if (deadline == 0) {
        deadline = now + LIMIT.toNanos();
      } else if (now - deadline > 0) {
        throw exhausted(what);
      }
    }
  }

  static IOException exhausted(String what) {
    return new IOException("no " + what + " for " + LIMIT.toSeconds() + " s: the peer is gone");
  }
}
