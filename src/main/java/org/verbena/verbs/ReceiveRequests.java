package org.verbena.verbs;

import org.verbena.ffi.ibv_recv_wr;

/**
 * A chain of receives for one queue, filled once and posted as often as wanted. For one thread at a
 * time. Made by {@link QueuePair#receiveRequests} and {@link SharedReceiveQueue#receiveRequests}.
 */
public final class ReceiveRequests extends Requests {
  ReceiveRequests(Postable owner, int capacity, int depth, int scatter, int mostScatter) {
    super(owner, capacity, depth, scatter, mostScatter, ibv_recv_wr.sizeof(), 0);
  }

  /** Empties the chain. */
  public ReceiveRequests clear() {
    reset();
    return this;
  }

  /** Adds a receive that completes with {@code id}. Without memory it takes immediate values. */
  public ReceiveRequests receive(long id) {
    begin();
    setName(id);
    return this;
  }

  /** Lets the last receive go on into this memory, which must allow {@link Access#LOCAL_WRITE}. */
  public ReceiveRequests into(MemoryRegion region, long offset, long bytes) {
    region.require(Access.LOCAL_WRITE);
    addEntry(region, offset, bytes);
    return this;
  }
}
