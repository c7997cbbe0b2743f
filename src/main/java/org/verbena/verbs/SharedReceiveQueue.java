package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.verbena.ffi.IbverbsTypes;
import org.verbena.ffi.ibv_srq_attr;

/**
 * Receives that many queue pairs take from, each for the message that comes to it next. They
 * complete in any order, to one completion queue. One thread at a time posts; any thread may set
 * the limit and close. Closing it closes its queue pairs first.
 */
public final class SharedReceiveQueue extends Postable implements Slots {
  private final ProtectionDomain domain;
  private final Context context;
  private final MemorySegment handle;
  private final CompletionQueue completions;
  private final FastCalls calls;
  private final Gate gate = new Gate();
  private final int depth;
  private final int scatter;
  private final int tag;
  private final long[] names;

  /** Free slots, in a ring: taken by who posts, put back by who polls. */
  private final int[] free;

  private final AtomicLong put;
  private long taken;

  /** 1 for each slot whose receive is posted. */
  private final AtomicIntegerArray outstanding;

  private volatile @Nullable QueuePair[] queuePairs = {};

  SharedReceiveQueue(
      ProtectionDomain domain,
      CompletionQueue completions,
      MemorySegment handle,
      int depth,
      int scatter) {
    super(domain, completions);
    this.domain = domain;
    this.context = domain.context();
    this.completions = completions;
    this.handle = handle;
    this.calls = context.calls();
    this.depth = depth;
    this.scatter = scatter;
    this.tag = completions.admit(depth);
    this.names = new long[depth];
    this.outstanding = new AtomicIntegerArray(depth);
    this.free = new int[depth];
    Arrays.setAll(free, slot -> slot);
    this.put = new AtomicLong(depth);
    completions.seat(tag, this);
    gate.setOpen(true);
    attach();
  }

  @Override
  ProtectionDomain domain() {
    return domain;
  }

  @Override
  MemorySegment handle() {
    return handle;
  }

  CompletionQueue completions() {
    return completions;
  }

  @Override
  long mostMessageBytes() {
    return Integer.toUnsignedLong(-1);
  }

  /** Receives that it holds. */
  public int depth() {
    return depth;
  }

  /** A chain for up to {@code capacity} receives of up to {@code pieces} pieces each. */
  public ReceiveRequests receiveRequests(int capacity, int pieces) {
    return new ReceiveRequests(this, capacity, depth, pieces, scatter);
  }

  /** Receives that may be posted now. */
  public int freeReceives() {
    return (int) (put.getAcquire() - taken);
  }

  /**
   * Posts all of {@code chain}, or nothing. Allocates nothing.
   *
   * @return false if there are too few free slots: poll the completion queue, then try again
   * @throws VerbsException if the device refuses a receive
   * @throws IllegalStateException if the queue is closed
   */
  public boolean post(ReceiveRequests chain) {
    if (!gate.enter()) {
      throw closed();
    }
    try {
      chain.requirePostableTo(this);
      int size = chain.size();
      if (size > freeReceives()) {
        return false;
      }
      for (int i = 0; i < size; i++) {
        int slot = free[(int) ((taken + i) % depth)];
        names[slot] = chain.nameOf(i);
        outstanding.setRelease(slot, 1);
        chain.number(i, RequestId.id(tag, slot));
      }
      int result = calls.postSrqRecv(handle.address(), chain.address(), chain.refused());
      int accepted = result == 0 ? size : chain.accepted();
      for (int i = accepted; i < size; i++) {
        outstanding.setRelease(free[(int) ((taken + i) % depth)], 0);
      }
      taken += accepted;
      if (result != 0) {
        throw new VerbsException(
            "ibv_post_srq_recv",
            context.name(),
            Errno.of(result, 0),
            "%s took %d of %d receives; %d of its %d slots are free"
                .formatted(this, accepted, size, freeReceives(), depth));
      }
      return true;
    } finally {
      gate.leave();
      Reference.reachabilityFence(chain);
    }
  }

  /** To be called under the lock. */
  void add(QueuePair pair) {
    @Nullable QueuePair[] next = Arrays.copyOf(queuePairs, queuePairs.length + 1);
    next[next.length - 1] = pair;
    queuePairs = next;
  }

  /** To be called under the lock. */
  void remove(QueuePair pair) {
    queuePairs = Arrays.stream(queuePairs).filter(each -> each != pair).toArray(QueuePair[]::new);
  }

  private @Nullable QueuePair find(int number) {
    for (QueuePair pair : queuePairs) {
      if (pair != null && pair.number() == number) {
        return pair;
      }
    }
    return null;
  }

  /** The receive of a queue pair that was closed meanwhile is freed and not shown. */
  @Override
  public boolean completes(long id, int row, Completions into) {
    int slot = RequestId.number(id);
    if (RequestId.tag(id) != tag
        || Integer.compareUnsigned(slot, depth) >= 0
        || outstanding.getAcquire(slot) == 0) {
      return false;
    }
    QueuePair pair = find(into.rawQueuePair(row));
    if (pair != null) {
      pair.showReceive(row, into, names[slot]);
    }
    outstanding.setRelease(slot, 0);
    long at = put.getPlain();
    free[(int) (at % depth)] = slot;
    put.setRelease(at + 1);
    return true;
  }

  /**
   * Lets the device tell once, by {@link AsyncEvent.Kind#SRQ_LIMIT_REACHED}, when fewer than {@code
   * receives} are left; 0 for never.
   */
  public void setLimit(int receives) {
    Range.require("limit", receives, 0, depth);
    synchronized (lock()) {
      requireOpen();
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = ibv_srq_attr.allocate(arena);
        ibv_srq_attr.srq_limit(attr, receives);
        context.driver().modifySrq(handle, attr, IbverbsTypes.IBV_SRQ_LIMIT());
      } catch (Errno e) {
        throw context.failure("ibv_modify_srq", e, "setting the limit of " + this);
      }
    }
  }

  /** The limit as the device has it: 0 once it was reached. */
  public int queryLimit() {
    synchronized (lock()) {
      requireOpen();
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = ibv_srq_attr.allocate(arena);
        context.driver().querySrq(handle, attr);
        return ibv_srq_attr.srq_limit(attr);
      } catch (Errno e) {
        throw context.failure("ibv_query_srq", e, "asking for the limit of " + this);
      }
    }
  }

  @Override
  int closingOrder() {
    return 1;
  }

  @Override
  void quiesce() {
    shut(gate, "ibv_post_srq_recv", context);
  }

  @Override
  void destroy() {
    try {
      context.driver().destroySrq(handle);
    } catch (Errno e) {
      throw context.failure("ibv_destroy_srq", e, "destroying " + this);
    } finally {
      completions.dismiss(tag, depth);
    }
  }

  @Override
  public String toString() {
    return "shared receive queue of %d of %s".formatted(depth, context.name());
  }
}
