package org.verbena.transport;

/**
 * The waiting thread was interrupted. Nothing is lost: the thread's interrupt status is still set,
 * and once it is cleared the same call can be made again.
 */
public final class WaitInterruptedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public WaitInterruptedException(String message) {
    super(message);
  }
}
