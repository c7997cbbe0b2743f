package org.verbena.transport;

/**
 * A peer is lost, left, or did not answer in time. What was begun with it can't be finished: the
 * exchange or transport that throws it can only be closed.
 *
 * <p>The message names this rank, the operation, its epoch, the peer, and what is known of it.
 */
public final class PeerException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int peer;

  public PeerException(int peer, String message) {
    super(message);
    this.peer = peer;
  }

  /** The rank that is the cause; not always the one that was waited for. */
  public int peer() {
    return peer;
  }
}
