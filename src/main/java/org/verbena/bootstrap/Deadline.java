package org.verbena.bootstrap;

import java.time.Duration;

/** A moment of the monotonic clock by which something must have happened. */
record Deadline(long nanoTime) {
  static Deadline in(Duration time) {
    return new Deadline(System.nanoTime() + time.toNanos());
  }

  boolean passed() {
    return nanoTime - System.nanoTime() <= 0;
  }

  /** The milliseconds left, rounded up: 0 only if the deadline has passed. */
  long millis() {
    return Math.max(0, Math.ceilDiv(nanoTime - System.nanoTime(), 1_000_000L));
  }

  Deadline earlier(Deadline other) {
    return other.nanoTime - nanoTime < 0 ? other : this;
  }
}
