package org.verbena.bootstrap;

import java.time.Duration;
import java.util.List;
import java.util.SequencedMap;
import java.util.concurrent.Callable;

/**
 * The members of a group and the slow, collective control plane between them.
 *
 * <p>Every call but {@link #rank}, {@link #size}, {@link #timeout} and {@link #close} is
 * collective: all ranks make the same calls in the same order. A call ends on its own within {@link
 * #timeout} of its start. No thread works behind the scenes: what a rank owes to the others it does
 * inside its own calls.
 *
 * <p>A group belongs to one thread at a time. An interrupt during a call ends the group: the call
 * throws and the thread stays interrupted.
 *
 * <p>After any {@link GroupException} but that of {@link #agree}, the group is broken: every later
 * call throws the same reason, on the other ranks as soon as they call.
 */
public interface Group extends AutoCloseable {
  /** The deadline of a collective call unless another is set: 30 s. */
  Duration DEFAULT_TIMEOUT = Duration.ofSeconds(30);

  /** The most bytes that one rank may give to {@link #allGather}: 16 MiB. */
  int MAX_PART_BYTES = 16 << 20;

  /** The number of this rank, from 0 to {@code size() - 1}. */
  int rank();

  /** The number of ranks, at least 1. */
  int size();

  /** How long a collective call waits for the others. */
  Duration timeout();

  /**
   * Gives every rank the bytes of every rank.
   *
   * @param operation what this call is for; the same on all ranks, checked, and named in errors
   * @param mine the bytes of this rank, at most {@link #MAX_PART_BYTES}; they are copied
   * @return the bytes of all ranks, in rank order; the arrays belong to the caller
   * @throws GroupException if a rank is missing at the deadline, has left or is gone (it is named),
   *     or is in another operation
   * @throws IllegalArgumentException if {@code mine} is too large; nothing was sent then
   */
  List<byte[]> allGather(String operation, byte[] mine);

  /**
   * Gives every rank what every rank's work results in. Where work fails, all ranks learn of it and
   * fail alike; the group stays usable.
   *
   * @param operation as in {@link #allGather}
   * @param work what this rank does first; it takes no part in collective calls
   * @return the results of all ranks, in rank order
   * @throws GroupException on every rank, naming each rank whose work threw, and its reason
   */
  default List<byte[]> allGatherResults(String operation, Callable<byte[]> work) {
    return Result.values(operation, allGather(operation, Result.of(work)));
  }

  /**
   * Checks that all ranks were started alike. A disagreement leaves the group usable.
   *
   * @param fields names and values that must be the same on all ranks, in the order in which they
   *     shall be reported
   * @throws GroupException on every rank alike, naming each field that differs, its values and the
   *     ranks that have them
   */
  default void agree(SequencedMap<String, String> fields) {
    Agreement.check(allGather("agree", Agreement.encode(fields)));
  }

  /**
   * Leaves the group without waiting for the others: those that still call are told that this rank
   * has left, which is not a failure of this rank. May be called again, to no effect.
   */
  @Override
  void close();
}
