package org.verbena.collective;

import org.verbena.layout.CollectiveLayout;
import org.verbena.transport.Transport;
import org.verbena.transport.WaitInterruptedException;

/**
 * 64-bit counters that all ranks of a group share, each 0 at first. Counter i is in the window of
 * rank i mod R and can be used as long as that rank lives; no processor ever writes it, so that a
 * network may. Overflow wraps around.
 *
 * <p>A call returns once the counter has changed; what a rank wrote elsewhere before is not ordered
 * by that. One thread at a time, for all moves of a {@link Collective} together. Allocates nothing.
 */
public final class SharedCounters {
  private final Port port;
  private final Transport transport;
  private final CollectiveLayout layout;

  SharedCounters(Port port, CollectiveLayout layout) {
    this.port = port;
    this.transport = port.transport();
    this.layout = layout;
  }

  /** How many there are. */
  public int count() {
    return layout.shape().counters();
  }

  /** What a counter holds. */
  public long get(int counter) {
    return fetchAndAdd(counter, 0);
  }

  /**
   * Adds to a counter.
   *
   * @return what it held before
   * @throws org.verbena.transport.PeerException if the rank that holds the counter is lost, or late
   */
  public long fetchAndAdd(int counter, long delta) {
    port.check("fetch and add");
    int peer = layout.counterRank(counter);
    return await(
        "fetch and add",
        peer,
        transport.fetchAndAdd(peer, layout.counter(counter), delta, layout.counterResult()));
  }

  /**
   * Replaces a counter if it holds what is expected.
   *
   * @return what it held before: what was expected if it was replaced
   * @throws org.verbena.transport.PeerException if the rank that holds the counter is lost, or late
   */
  public long compareAndSwap(int counter, long expected, long value) {
    port.check("compare and swap");
    int peer = layout.counterRank(counter);
    return await(
        "compare and swap",
        peer,
        transport.compareAndSwap(
            peer, layout.counter(counter), expected, value, layout.counterResult()));
  }

  /** An interrupt does not end this wait: the call could not be made again without a second add. */
  private long await(String operation, int peer, long ticket) {
    port.startWait(operation, ticket);
    boolean interrupted = false;
    while (!port.isComplete(peer, ticket)) {
      try {
        port.pause(peer);
      } catch (WaitInterruptedException _) {
        interrupted |= Thread.interrupted();
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return port.wordAcquire(layout.counterResult());
  }
}
