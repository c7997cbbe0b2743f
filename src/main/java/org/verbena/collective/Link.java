package org.verbena.collective;

import java.util.List;
import java.util.stream.IntStream;

/**
 * A way for activations, from one rank to another.
 *
 * @param source the rank that sends
 * @param target the rank that receives
 */
public record Link(int source, int target) {
  /** From each rank to the next: the stages of a pipeline. */
  public static List<Link> chain(int ranks) {
    return IntStream.range(1, ranks).mapToObj(rank -> new Link(rank - 1, rank)).toList();
  }

  /** From each rank to the next, and from the last to the first. */
  public static List<Link> ring(int ranks) {
    return IntStream.range(0, ranks).mapToObj(rank -> new Link(rank, (rank + 1) % ranks)).toList();
  }

  @Override
  public String toString() {
    return source + ">" + target;
  }
}
