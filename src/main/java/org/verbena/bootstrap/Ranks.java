package org.verbena.bootstrap;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Ranks in messages. */
final class Ranks {
  private Ranks() {}

  /** "rank 2" or "ranks 0, 3". */
  static String name(List<Integer> ranks) {
    return (ranks.size() == 1 ? "rank " : "ranks ")
        + ranks.stream().map(String::valueOf).collect(Collectors.joining(", "));
  }

  /** The indices of {@code seats} that are still empty. */
  static List<Integer> missing(@Nullable Object[] seats) {
    return IntStream.range(0, seats.length).filter(rank -> seats[rank] == null).boxed().toList();
  }
}
