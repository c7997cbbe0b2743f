package org.verbena.collective;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Where parameters come from. What a method throws ends the sync on all ranks, with the message as
 * the reason; no target then keeps anything.
 */
public interface ParameterSource {
  /** What there is, in the order in which it is sent. */
  List<Parameter> parameters();

  /**
   * Reads a part of a parameter; each is read once, in order.
   *
   * @param parameter its index
   * @param offset where the part begins in the parameter
   * @param to where it is put, from {@code at} on
   * @param bytes how much; all of it is read
   * @throws IOException if it can't be read, or has become shorter
   */
  void read(int parameter, long offset, MemorySegment to, long at, int bytes) throws IOException;

  /**
   * Called after the last read.
   *
   * @param checksum the CRC32C of all that was read, one parameter behind the other
   * @throws IOException if what was read may be of different times, as it has changed meanwhile
   */
  void verify(int checksum) throws IOException;
}
