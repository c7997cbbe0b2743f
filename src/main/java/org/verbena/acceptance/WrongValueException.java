package org.verbena.acceptance;

/** A value that is not what the reference says. The message tells where, what and what instead. */
public final class WrongValueException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  WrongValueException(String message) {
    super(message);
  }
}
