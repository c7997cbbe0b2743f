package org.verbena.moe;

/**
 * A peer sent what no rank of this exchange sends: a count that can't be, an expert that is not
 * here, a signal of a later epoch. The exchange can only be closed.
 */
public final class ExchangeException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int peer;

  ExchangeException(int peer, String message) {
    super(message);
    this.peer = peer;
  }

  /** The rank that sent it. */
  public int peer() {
    return peer;
  }
}
