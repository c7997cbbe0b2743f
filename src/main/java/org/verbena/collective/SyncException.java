package org.verbena.collective;

import org.jspecify.annotations.Nullable;

/**
 * A parameter sync was given up, on all its ranks alike, because of what happened on one of them:
 * its source changed, its target is full. No target keeps anything, and the {@link Collective} can
 * only be closed; another one can be opened on the same group.
 */
public final class SyncException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int rank;

  SyncException(int rank, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.rank = rank;
  }

  /** The rank on which it happened. */
  public int rank() {
    return rank;
  }
}
