package org.verbena.verbs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The slots of a send or receive queue. Requests end in the order in which they were posted, so a
 * completion frees the slots of all before it. Posted by one thread, completed by another.
 */
final class WorkQueue {
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

  private final int depth;
  private final long tag;
  private final long[] ids;
  private long posted;
  private long completed;

  WorkQueue(int depth, long tag) {
    this.depth = depth;
    this.tag = tag;
    this.ids = new long[Integer.highestOneBit(Math.max(depth, 1) * 2 - 1)];
  }

  int depth() {
    return depth;
  }

  long tag() {
    return tag;
  }

  int outstanding() {
    return (int) ((long) POSTED.getAcquire(this) - (long) COMPLETED.getAcquire(this));
  }

  int free() {
    return depth - (int) (posted - (long) COMPLETED.getAcquire(this));
  }

  long posted() {
    return posted;
  }

  /** Remembers what the user calls request {@code sequence}; to be done before it is posted. */
  void name(long sequence, long id) {
    ids[(int) sequence & ids.length - 1] = id;
  }

  long nameOf(long sequence) {
    return ids[(int) sequence & ids.length - 1];
  }

  /** All before {@code sequence} are posted; told before they are, as they may end at once. */
  void postedUpToRelease(long sequence) {
    POSTED.setRelease(this, sequence);
  }

  /** Whether a request with the low bits {@code sequence} is outstanding. */
  boolean isOutstanding(long sequence) {
    long done = completed;
    long ahead = (sequence - done) & RequestId.SEQUENCE_MASK;
    return ahead < (long) POSTED.getAcquire(this) - done;
  }

  /** Frees the slots up to that of the outstanding request with the low bits {@code sequence}. */
  void completeRelease(long sequence) {
    long done = completed;
    COMPLETED.setRelease(this, done + ((sequence - done) & RequestId.SEQUENCE_MASK) + 1);
  }
}
