package org.verbena.cluster;

import org.jspecify.annotations.Nullable;

/**
 * The cluster could not do what was asked of it. The message names the node and says what to do.
 */
public final class ClusterException extends RuntimeException {
  private static final long serialVersionUID = 1;

  ClusterException(String message) {
    super(message);
  }

  ClusterException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
