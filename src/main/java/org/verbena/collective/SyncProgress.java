package org.verbena.collective;

/** Is told how far a parameter sync is on its own rank, after each chunk. */
@FunctionalInterface
public interface SyncProgress {
  /** Tells nobody. */
  SyncProgress NONE = (bytes, total) -> {};

  /**
   * Called in the thread that syncs, which waits meanwhile.
   *
   * @param bytes bytes of parameters read, or received, so far
   * @param total bytes of all parameters
   */
  void passed(long bytes, long total);
}
