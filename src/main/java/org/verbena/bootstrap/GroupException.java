package org.verbena.bootstrap;

import java.io.Serial;

/** A group that could not be formed, or a collective call in it that failed. */
public final class GroupException extends RuntimeException {
  @Serial private static final long serialVersionUID = 1;

  /** An exception that names the ranks, the operation and what to do. */
  public GroupException(String message) {
    super(message);
  }

  /** An exception with the error of the system that led to it. */
  public GroupException(String message, Throwable cause) {
    super(message, cause);
  }
}
