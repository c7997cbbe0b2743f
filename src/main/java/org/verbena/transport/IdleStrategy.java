package org.verbena.transport;

import java.util.concurrent.locks.LockSupport;

/**
 * What a thread does between two looks at a word that it waits for. Implementations allocate
 * nothing and may be shared between threads.
 */
@FunctionalInterface
public interface IdleStrategy {
  /**
   * Pauses once.
   *
   * @param pauses how often this wait has paused before, from 0
   */
  void idle(int pauses);

  /** Spins without ever giving the processor away: lowest latency, for a processor per rank. */
  static IdleStrategy spinning() {
    return pauses -> Thread.onSpinWait();
  }

  /**
   * Spins first, then yields, then parks, each time longer up to a limit.
   *
   * @param spins pauses that spin
   * @param yields pauses after these that yield
   * @param maxParkNanos longest time parked at once, in nanoseconds
   */
  @SuppressWarnings("ThreadPriorityCheck") // Yielding is what the caller asks for.
  static IdleStrategy backoff(int spins, int yields, long maxParkNanos) {
    return pauses -> {
      if (pauses < spins) {
        Thread.onSpinWait();
      } else if (pauses - spins < yields) {
        Thread.yield();
      } else {
        int doublings = Math.min(pauses - spins - yields, 20);
        LockSupport.parkNanos(Math.min(1_000L << doublings, maxParkNanos));
      }
    };
  }

  /**
   * The default: backs off at once where more ranks than processors share a machine, so that those
   * that have work get to run.
   *
   * @param localRanks ranks that share this machine
   */
  static IdleStrategy forRanks(int localRanks) {
    boolean crowded = localRanks > Runtime.getRuntime().availableProcessors();
    return crowded ? backoff(0, 50, 500_000) : backoff(5_000, 50, 500_000);
  }

  /**
   * The default where a network brings what is waited for: backs off at once unless each rank has a
   * second processor, for a network in software needs one, and a waiter that spins takes it away.
   * So does one that wakes often: the longest park is 2 ms, and none is longer than the wait before
   * it by more than 1 µs.
   *
   * @param localRanks ranks that share this machine
   */
  static IdleStrategy forNetwork(int localRanks) {
    boolean crowded = 2 * localRanks >= Runtime.getRuntime().availableProcessors();
    return crowded ? backoff(0, 10, 2_000_000) : backoff(5_000, 50, 500_000);
  }
}
