package org.verbena.collective;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * Where parameters go. {@link #begin} comes first, then the parts in order, then {@link #finish};
 * {@link #commit} only when all ranks have finished. Whatever goes wrong on any rank before, {@link
 * #abort} is called instead.
 *
 * <p>What a method but {@code commit} throws ends the sync on all ranks, with the message as the
 * reason.
 */
public interface ParameterTarget {
  /**
   * What will come. To be refused here if it does not fit.
   *
   * @throws IOException saying what does not fit, and by how much
   */
  void begin(List<Parameter> parameters) throws IOException;

  /**
   * Takes a part of a parameter, whose checksum is right.
   *
   * @param parameter its index
   * @param offset where the part belongs in the parameter
   * @param from where it is now, from {@code at} on; only during the call
   * @param bytes how much
   */
  void write(int parameter, long offset, MemorySegment from, long at, int bytes) throws IOException;

  /**
   * All parts are there: makes sure that they will last.
   *
   * @param checksum the CRC32C of all parameters, one behind the other, at the source; that of all
   *     parts written is the same
   */
  void finish(int checksum) throws IOException;

  /** All ranks have finished: from here on the parameters count as there. */
  void commit() throws IOException;

  /** The sync failed: nothing of it counts. Also called where {@link #begin} threw. */
  void abort();
}
