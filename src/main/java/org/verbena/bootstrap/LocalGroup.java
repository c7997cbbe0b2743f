package org.verbena.bootstrap;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A group of threads of one process. Each member belongs to one thread at a time. */
public final class LocalGroup implements Group {
  private final Meeting meeting;
  private final int rank;
  private final Duration timeout;

  private LocalGroup(Meeting meeting, int rank, Duration timeout) {
    this.meeting = meeting;
    this.rank = rank;
    this.timeout = timeout;
  }

  /** The members of a group of {@code size} ranks, in rank order. */
  public static List<LocalGroup> of(int size) {
    return of(size, DEFAULT_TIMEOUT);
  }

  /** The same with a deadline for its collective calls. */
  public static List<LocalGroup> of(int size, Duration timeout) {
    if (size < 1) {
      throw new IllegalArgumentException("size is " + size + ", but a group has at least one rank");
    }
    Meeting meeting = new Meeting(size);
    List<LocalGroup> members = new ArrayList<>(size);
    for (int rank = 0; rank < size; rank++) {
      members.add(new LocalGroup(meeting, rank, timeout));
    }
    return List.copyOf(members);
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public int size() {
    return meeting.size;
  }

  @Override
  public Duration timeout() {
    return timeout;
  }

  @Override
  public List<byte[]> allGather(String operation, byte[] mine) {
    Parts.checkSize(operation, mine);
    try {
      return meeting.gather(rank, operation, mine.clone(), timeout);
    } catch (GroupException e) {
      throw new GroupException(Parts.where(rank, meeting.size, operation) + e.getMessage(), e);
    }
  }

  @Override
  public void close() {
    meeting.leave(rank);
  }

  /** What the members share. */
  private static final class Meeting {
    private final int size;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final boolean[] left;
    private Parts current;
    private @Nullable String broken;

    Meeting(int size) {
      this.size = size;
      this.left = new boolean[size];
      this.current = new Parts(size);
    }

    List<byte[]> gather(int rank, String operation, byte[] mine, Duration timeout) {
      lock.lock();
      try {
        if (left[rank]) {
          throw new GroupException("this rank has closed the group");
        }
        if (broken != null) {
          throw new GroupException(broken);
        }
        Parts parts = current;
        String conflict = parts.add(rank, operation, mine);
        if (conflict != null) {
          throw fail(conflict);
        }
        if (parts.complete()) {
          current = new Parts(size);
          changed.signalAll();
        }
        long nanos = timeout.toNanos();
        while (!parts.complete()) {
          if (broken == null) {
            parts.missing().stream()
                .filter(other -> left[other])
                .findFirst()
                .ifPresent(other -> fail("rank " + other + " has left the group"));
          }
          if (broken != null) {
            throw new GroupException(broken);
          }
          if (nanos <= 0) {
            throw fail(Parts.late(parts.missing(), timeout));
          }
          nanos = changed.awaitNanos(nanos);
        }
        return parts.copy();
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
        throw fail("rank " + rank + " was interrupted");
      } finally {
        lock.unlock();
      }
    }

    private GroupException fail(String reason) {
      broken = reason;
      changed.signalAll();
      return new GroupException(reason);
    }

    void leave(int rank) {
      lock.lock();
      try {
        left[rank] = true;
        changed.signalAll();
      } finally {
        lock.unlock();
      }
    }
  }
}
