package org.verbena.bootstrap;

import java.util.concurrent.ThreadLocalRandom;

/** Pauses between tries, each up to twice as long as the last, at random so that ranks spread. */
final class Backoff {
  private static final long FIRST_MILLIS = 10;
  private static final long MAX_MILLIS = 500;

  private long millis = FIRST_MILLIS;

  /** Waits before the next try; false, at once, if the deadline allows none. */
  boolean pause(Deadline deadline) throws InterruptedException {
    if (deadline.passed()) {
      return false;
    }
    long pause = ThreadLocalRandom.current().nextLong(millis / 2, millis + 1);
    Thread.sleep(Math.min(pause, deadline.millis()));
    millis = Math.min(2 * millis, MAX_MILLIS);
    return true;
  }
}
