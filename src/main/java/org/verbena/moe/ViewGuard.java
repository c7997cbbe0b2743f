package org.verbena.moe;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * Hands out segments of a round's memory that can be taken back when the round has passed: whoever
 * still uses one gets an exception instead of another round's data.
 */
final class ViewGuard {
  private final boolean enabled;
  private @Nullable Arena arena;

  ViewGuard(boolean enabled) {
    this.enabled = enabled;
  }

  /** The same memory, until {@link #revoke}. */
  // Restricted: only the lifetime changes, and only to a shorter one. Closed: by revoke.
  @SuppressWarnings({"restricted", "MustBeClosedChecker"})
  MemorySegment guard(MemorySegment memory) {
    if (!enabled) {
      return memory;
    }
    if (arena == null) {
      arena = Arena.ofShared();
    }
    return memory.reinterpret(arena, null);
  }

  /**
   * Takes back what was handed out.
   *
   * @return whether there was anything
   * @throws IllegalStateException if a native call of another thread still uses it; nothing changes
   */
  boolean revoke() {
    if (arena == null) {
      return false;
    }
    arena.close();
    arena = null;
    return true;
  }
}
