package org.verbena.moe;

import java.lang.foreign.MemorySegment;

/** Refuses memory that an exchange can't take, before anything is sent. */
final class Segments {
  private final int rank;

  Segments(int rank) {
    this.rank = rank;
  }

  void checkInput(String operation, String name, MemorySegment segment, long bytes, int alignment) {
    if (!segment.isNative()) {
      throw refused(operation, name, "is on the heap; allocate it from an Arena");
    }
    if (!segment.scope().isAlive() || !segment.isAccessibleBy(Thread.currentThread())) {
      throw refused(operation, name, "is closed, or confined to another thread");
    }
    if (segment.byteSize() < bytes) {
      throw refused(operation, name, "has %d bytes, needs %d".formatted(segment.byteSize(), bytes));
    }
    if (segment.address() % alignment != 0) {
      throw refused(
          operation,
          name,
          "is at address %#x, which is no multiple of %d".formatted(segment.address(), alignment));
    }
  }

  void checkOutput(
      String operation, String name, MemorySegment segment, long bytes, int alignment) {
    checkInput(operation, name, segment, bytes, alignment);
    if (segment.isReadOnly()) {
      throw refused(operation, name, "is read-only");
    }
  }

  private IllegalArgumentException refused(String operation, String name, String why) {
    return new IllegalArgumentException(
        "rank %d: %s: the segment of %s %s".formatted(rank, operation, name, why));
  }
}
