package org.verbena.collective;

/**
 * A peer sent what no rank sends: a message longer than its slot, more credit than there was. The
 * {@link Collective} can only be closed.
 */
public final class CollectiveException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int peer;

  CollectiveException(int peer, String message) {
    super(message);
    this.peer = peer;
  }

  /** The rank that sent it. */
  public int peer() {
    return peer;
  }
}
