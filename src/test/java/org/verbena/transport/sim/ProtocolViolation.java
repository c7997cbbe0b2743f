package org.verbena.transport.sim;

/** A rule of the protocol was broken. */
public final class ProtocolViolation extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public ProtocolViolation(String message) {
    super(message);
  }
}
