package org.verbena.verbs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The slots of the send or the receive queue of a queue pair. Requests end in the order in which
 * they were posted, so a completion frees the slots of all before it. Posted by one thread,
 * completed by another.
 */
final class WorkQueue implements Slots {
  private static final VarHandle POSTED;
  private static final VarHandle COMPLETED;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      POSTED = lookup.findVarHandle(WorkQueue.class, "posted", int.class);
      COMPLETED = lookup.findVarHandle(WorkQueue.class, "completed", int.class);
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

  private final long[] names;

  /** How many requests were posted and how many have ended, modulo 2^32. */
  private int posted;

  private int completed;

  private WorkQueue(QueuePair queuePair, boolean receives, int depth, int tag) {
    this.queuePair = queuePair;
    this.receives = receives;
    this.depth = depth;
    this.tag = tag;
    this.names = new long[Integer.highestOneBit(Math.max(depth, 1) * 2 - 1)];
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
    return (int) POSTED.getAcquire(this) - (int) COMPLETED.getAcquire(this);
  }

  int free() {
    return depth - (posted - (int) COMPLETED.getAcquire(this));
  }

  int posted() {
    return posted;
  }

  /** Whether {@code id}, hidden or not, is one of a request that is outstanding here. */
  boolean isOutstanding(long id) {
    int done = completed;
    int ahead = RequestId.number(id) - done;
    return RequestId.tag(id) == tag
        && Integer.compareUnsigned(ahead, (int) POSTED.getAcquire(this) - done) < 0;
  }

  @Override
  public boolean completes(long id, int row, Completions into) {
    if (!isOutstanding(id)) {
      return false;
    }
    int number = RequestId.number(id);
    boolean success = into.rawSuccess(row);
    if (!success) {
      queuePair.failed(this, into.exception(row, this, nameOf(number)));
    }
    if (!success || !RequestId.isHidden(id)) {
      into.show(row, this, nameOf(number));
    }
    completedUpToRelease(number + 1);
    return true;
  }

  /** Remembers what the user calls request {@code number}; to be done before it is posted. */
  void name(int number, long name) {
    names[number & names.length - 1] = name;
  }

  private long nameOf(int number) {
    return names[number & names.length - 1];
  }

  /** All before {@code number} are posted; told before they are, as they may end at once. */
  void postedUpToRelease(int number) {
    POSTED.setRelease(this, number);
  }

  /** Frees the slots of all before {@code number}. */
  void completedUpToRelease(int number) {
    COMPLETED.setRelease(this, number);
  }
}
