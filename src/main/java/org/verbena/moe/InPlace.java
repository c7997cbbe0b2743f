package org.verbena.moe;

import org.jspecify.annotations.Nullable;
import org.verbena.transport.Registration;

/** Registered memory from which a round sends in place, if any. */
final class InPlace {
  private @Nullable Registration memory;
  private long start;

  /**
   * Sets where rows leave from; null if they are copied.
   *
   * @param address of the first row
   */
  void set(@Nullable Registration registration, long address) {
    memory = registration;
    start = registration == null ? 0 : address - registration.memory().address();
  }

  @Nullable Registration memory() {
    return memory;
  }

  /** Where the first row is in this memory. */
  long start() {
    return start;
  }
}
