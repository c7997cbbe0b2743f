package org.verbena.transport.rdma;

import org.verbena.transport.Traffic;

/** Counts what is posted. */
@SuppressWarnings("EnumOrdinal") // operations are counted in an array, which allocates nothing
final class Posted implements Traffic {
  private final long[] operations = new long[Operation.values().length];
  private final long[] signals;
  private long bytes;

  Posted(int ranks) {
    signals = new long[ranks];
  }

  void operation(Operation operation, long payload) {
    operations[operation.ordinal()]++;
    payload(payload);
  }

  /** More payload of the last operation. */
  void payload(long more) {
    bytes += more;
  }

  void signal(int peer) {
    signals[peer]++;
  }

  @Override
  public long bytes() {
    return bytes;
  }

  @Override
  public long operations(Operation operation) {
    return operations[operation.ordinal()];
  }

  @Override
  public long signals(int peer) {
    return signals[peer];
  }
}
