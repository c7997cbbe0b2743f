package org.verbena.moe;

/** What an exchange has done since it was opened. One thread at a time, as for the exchange. */
public final class Counters {
  private long dispatchedRows;
  private long combinedRows;
  private long copiedBytes;
  private long remoteBytes;
  private long signals;

  Counters() {}

  void dispatched(long rows, long bytes, boolean remote) {
    dispatchedRows += rows;
    sent(bytes, remote);
  }

  void combined(long rows, long bytes, boolean remote) {
    combinedRows += rows;
    sent(bytes, remote);
  }

  private void sent(long bytes, boolean remote) {
    if (remote) {
      remoteBytes += bytes;
    }
  }

  void copied(long bytes) {
    copiedBytes += bytes;
  }

  void signalled() {
    signals++;
  }

  /** Rows sent in dispatches: one for each token and each rank that it went to. */
  public long dispatchedRows() {
    return dispatchedRows;
  }

  /** Rows sent in combines: one for each row received. */
  public long combinedRows() {
    return combinedRows;
  }

  /**
   * Bytes of messages that the library put where they leave from: copied in a dispatch, computed in
   * a combine. Rows that an engine writes in place, or that leave from {@linkplain
   * Exchange#register registered} memory, do not count.
   */
  public long copiedBytes() {
    return copiedBytes;
  }

  /** Bytes of messages, without padding and signals, that were sent to other ranks. */
  public long remoteBytes() {
    return remoteBytes;
  }

  /** Signals sent to all ranks, this one included. */
  public long signals() {
    return signals;
  }
}
