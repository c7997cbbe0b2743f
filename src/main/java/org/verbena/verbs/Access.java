package org.verbena.verbs;

import java.util.EnumSet;
import java.util.Set;
import org.verbena.ffi.IbverbsTypes;

/** What may be done to a memory region, and through a queue pair. */
public enum Access {
  /** The device may write: receives, results of reads and atomics. */
  LOCAL_WRITE(IbverbsTypes.IBV_ACCESS_LOCAL_WRITE()),
  /** Peers may write; implies {@link #LOCAL_WRITE}. */
  REMOTE_WRITE(IbverbsTypes.IBV_ACCESS_REMOTE_WRITE()),
  /** Peers may read. */
  REMOTE_READ(IbverbsTypes.IBV_ACCESS_REMOTE_READ()),
  /** Peers may run atomics; implies {@link #LOCAL_WRITE}. */
  REMOTE_ATOMIC(IbverbsTypes.IBV_ACCESS_REMOTE_ATOMIC()),
  /**
   * Writes may become visible in any order. Never for memory that holds signals: a signal could
   * then overtake its data.
   */
  RELAXED_ORDERING(IbverbsTypes.IBV_ACCESS_RELAXED_ORDERING());

  private static final int IMPLY_LOCAL_WRITE = REMOTE_WRITE.flag | REMOTE_ATOMIC.flag;

  private final int flag;

  Access(int flag) {
    this.flag = flag;
  }

  static int flags(Access... access) {
    Set<Access> set = EnumSet.noneOf(Access.class);
    set.addAll(Set.of(access));
    return flags(set);
  }

  /** The flags of {@code set}, with what they imply. */
  static int flags(Set<Access> set) {
    int flags = 0;
    for (Access access : set) {
      flags |= access.flag;
    }
    return (flags & IMPLY_LOCAL_WRITE) != 0 ? flags | LOCAL_WRITE.flag : flags;
  }

  boolean in(int flags) {
    return (flags & flag) != 0;
  }
}
