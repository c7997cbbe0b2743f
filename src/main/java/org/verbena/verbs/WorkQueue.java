package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The slots of the send or the receive queue of a queue pair, and the gate before them, which is
 * open while requests may be posted. Requests end in the order in which they were posted, so a
 * completion frees the slots of all before it. Posted by one thread, completed by another.
 */
final class WorkQueue extends Gate implements Slots {
  private static final VarHandle POSTED;
  private static final VarHandle COMPLETED;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      POSTED = lookup.findVarHandle(WorkQueue.class, "posted", long.class);
      COMPLETED = lookup.findVarHandle(WorkQueue.class, "completed", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final QueuePair queuePair;

  /** Whether it is the receive queue of {@code queuePair}. */
  private final boolean receives;

  private final int depth;

  /** See {@link RequestId}. */
  private final int tag;

  /** What the user calls the requests, in a ring. */
  private final MemorySegment names;

  private final long namesAddress;
  private final long nameMask;

  /** The id of the request that is posted next, and of the first that has not ended. */
  private long posted;

  private long completed;

  private WorkQueue(QueuePair queuePair, boolean receives, int depth, int tag) {
    this.queuePair = queuePair;
    this.receives = receives;
    this.depth = depth;
    this.tag = tag;
    this.posted = RequestId.id(tag, 0);
    this.completed = posted;
    this.nameMask = Integer.highestOneBit(Math.max(depth, 1) * 2 - 1) - 1L;
    this.names = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG, nameMask + 1);
    this.namesAddress = names.address();
  }

  /** Makes one whose requests complete to {@code completions}. Under the lock. */
  static WorkQueue create(
      QueuePair queuePair, boolean receives, int depth, CompletionQueue completions) {
    WorkQueue queue = new WorkQueue(queuePair, receives, depth, completions.admit(depth));
    completions.seat(queue.tag, queue);
    return queue;
  }

  QueuePair queuePair() {
    return queuePair;
  }

  boolean isReceives() {
    return receives;
  }

  int depth() {
    return depth;
  }

  int tag() {
    return tag;
  }

  int outstanding() {
    return (int) (long) POSTED.getAcquire(this) - (int) (long) COMPLETED.getAcquire(this);
  }

  int free() {
    int done = RequestId.number((long) COMPLETED.getAcquire(this));
    return depth - (RequestId.number(posted) - done);
  }

  /** The id of the request that is posted next. */
  long posted() {
    return posted;
  }

  /** Whether {@code id}, hidden or not, is one of a request that is outstanding here. */
  boolean isOutstanding(long id) {
    int done = RequestId.number(completed);
    int ahead = RequestId.number(id) - done;
    return RequestId.tag(id) == tag
        && Integer.compareUnsigned(ahead, (int) (long) POSTED.getAcquire(this) - done) < 0;
  }

  /**
   * Whether {@code id} is one of a request that is outstanding here, and not hidden. Two
   * comparisons; false also for some while numbers begin anew.
   */
  boolean isPlainlyOutstanding(long id) {
    return id >= completed && id < (long) POSTED.getAcquire(this);
  }

  @Override
  public boolean completes(long id, int row, Completions into) {
    if (!isOutstanding(id)) {
      return false;
    }
    boolean success = into.rawSuccess(row);
    if (!success) {
      queuePair.failed(this, into.exception(row, this, nameOf(id)));
    }
    if (!success || !RequestId.isHidden(id)) {
      into.show(row, this, nameOf(id));
    }
    completedUpToRelease(RequestId.plus(id, 1));
    return true;
  }

  /** Remembers what the user calls request {@code id}; to be done before it is posted. */
  void name(long id, long name) {
    Memory.setLong(nameAddress(id), name);
  }

  long nameOf(long id) {
    return Memory.getLong(nameAddress(id));
  }

  private long nameAddress(long id) {
    return Memory.bounded(namesAddress + (id & nameMask) * Long.BYTES);
  }

  /** All before {@code id} are posted; told before they are, as they may end at once. */
  void postedUpToRelease(long id) {
    POSTED.setRelease(this, id);
  }

  /** Gives its place in {@code completions} back; nothing is outstanding here. Under the lock. */
  void retire(CompletionQueue completions) {
    postedUpToRelease(RequestId.hidden(completed));
    completions.dismiss(tag, depth);
  }

  /** Frees the slots of all before {@code id}. */
  void completedUpToRelease(long id) {
    COMPLETED.setRelease(this, id);
  }
}
