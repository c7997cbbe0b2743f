package org.verbena.cluster;

import java.io.Serializable;

/**
 * Work for the Java process of a node: a record, or a lambda that captures nothing but serializable
 * values. It runs there with the classes of this build; the result, or what was thrown, comes back.
 *
 * @param <R> the result, serializable
 */
@FunctionalInterface
public interface Task<R> extends Serializable {
  /** Runs in the node. */
  R call() throws Exception;
}
