package org.verbena.transport;

import java.lang.foreign.MemorySegment;

/**
 * Memory of the caller's that a transport {@linkplain Transport#register sends from in place}. One
 * thread at a time, as for the transport.
 */
public interface Registration extends AutoCloseable {
  /** Of a transport that can send from any memory, and has nothing to register. */
  static Registration of(MemorySegment memory) {
    return new Registration() {
      @Override
      public MemorySegment memory() {
        return memory;
      }

      @Override
      public void close() {}
    };
  }

  /** What was registered; it lives at least as long as the registration. */
  MemorySegment memory();

  /**
   * Ends the registration. All writes from it must be {@linkplain Transport#isComplete complete}.
   * Closing the transport does it too; closing again does nothing.
   */
  @Override
  void close();
}
