package org.verbena.transport;

import java.time.Duration;

/**
 * A wait for what a peer does, with a deadline and an eye on the peer. Reused from wait to wait, so
 * that waiting allocates nothing until it has become long.
 *
 * <pre>{@code
 * wait.start("dispatch receive", epoch);
 * while (!arrived(peer)) {
 *   wait.pause(peer);
 * }
 * }</pre>
 *
 * <p>One thread at a time.
 */
public final class Wait {
  /** A wait is long, and worth system calls, after this time. */
  private static final long LONG_NANOS = 100_000_000;

  private final Transport transport;
  private final IdleStrategy idleStrategy;
  private final long timeoutNanos;

  private String operation = "";
  private long epoch;
  private int pauses;
  private int suspect;
  private long start;
  private long nextLook;

  public Wait(Transport transport, IdleStrategy idleStrategy, Duration timeout) {
    this.transport = transport;
    this.idleStrategy = idleStrategy;
    this.timeoutNanos = timeout.toNanos();
  }

  /** Begins a wait: its deadline counts from here. */
  public void start(String operation, long epoch) {
    this.operation = operation;
    this.epoch = epoch;
    pauses = 0;
    suspect = -1;
    start = System.nanoTime();
    nextLook = LONG_NANOS;
  }

  /**
   * Pauses once. The caller looks again, and calls this again if it still has to wait.
   *
   * @throws PeerException if the peer can't be waited for any more, or the deadline has passed
   * @throws WaitInterruptedException if the thread is interrupted
   */
  public void pause(int peer) {
    transport.progress();
    idleStrategy.idle(pauses);
    pauses = pauses == Integer.MAX_VALUE ? pauses : pauses + 1;
    if ((pauses & 63) == 0 || pauses > 1_000) {
      if (Thread.currentThread().isInterrupted()) {
        throw new WaitInterruptedException(
            describe(peer) + " was interrupted; the call can be made again");
      }
      long waited = System.nanoTime() - start;
      if (waited >= nextLook || suspect == peer) {
        nextLook = waited + LONG_NANOS;
        look(peer, waited);
      }
    }
  }

  /**
   * Looks after the peer. What it sent last may have arrived after the caller's last look, or while
   * this very process was stopped: so a peer that has ended, or is late, is only suspected at
   * first, and given up the second time.
   */
  private void look(int peer, long waited) {
    PeerState state = transport.state(peer);
    boolean ended = state.kind() != PeerState.Kind.ALIVE;
    boolean over = ended || waited >= timeoutNanos;
    if (over && suspect != peer) {
      suspect = peer;
    } else if (over) {
      int culprit = ended ? state.culprit() : peer;
      transport.fail(culprit);
      throw PeerException.ofRound(culprit, describe(peer) + ": " + reason(peer, state, waited));
    }
  }

  private String describe(int peer) {
    return "rank %d: %s of epoch %d, waiting for rank %d"
        .formatted(transport.rank(), operation, epoch, peer);
  }

  private String reason(int peer, PeerState state, long waited) {
    return switch (state.kind()) {
      case ALIVE ->
          "nothing came within %.1f s; rank %d is stopped, too slow, or in another round"
                  .formatted(waited / 1e9, peer)
              + " (raise the timeout if it may take longer)";
      case CLOSED ->
          "rank %d closed in order and takes part in no more rounds".formatted(peer)
              + " (every rank takes part in every round)";
      case FAILED -> "rank %d gave up because of rank %d".formatted(peer, state.culprit());
      case DEAD -> "rank %d died: its process ended without closing".formatted(peer);
    };
  }
}
