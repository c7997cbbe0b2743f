package org.verbena.collective;

import java.util.HashSet;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The way that parameters take: from the first rank to those that follow it, each of which passes
 * on what it gets. All ranks on it give the same one.
 *
 * @param ranks the ranks that take part; the first is the source
 * @param fanOut to how many ranks each sends: the one at place i to those at places {@code i *
 *     fanOut + 1} to {@code i * fanOut + fanOut}
 * @param move which end moves the bytes
 */
public record Route(List<Integer> ranks, int fanOut, Move move) {
  /**
   * Checks the way.
   *
   * @throws IllegalArgumentException if it has no rank, one twice, or no fan-out
   */
  public Route {
    ranks = List.copyOf(ranks);
    if (ranks.isEmpty() || new HashSet<>(ranks).size() != ranks.size()) {
      throw new IllegalArgumentException("a route has each of its ranks once, got " + ranks);
    }
    if (fanOut < 1) {
      throw new IllegalArgumentException("the fan-out is at least 1, got " + fanOut);
    }
  }

  /** From rank 0 through all ranks: each link is used once, whatever the number of ranks. */
  public static Route chain(int ranks) {
    return new Route(all(ranks), 1, Move.WRITE);
  }

  /** From rank 0 to two ranks, from each of them to two others: fewer steps, links used twice. */
  public static Route tree(int ranks) {
    return new Route(all(ranks), 2, Move.WRITE);
  }

  /** From rank 0 to all ranks; on one host, where all of them take chunks out of its memory. */
  public static Route star(int ranks) {
    return new Route(all(ranks), Math.max(1, ranks - 1), Move.WRITE);
  }

  /** One rank that comes late reads from another that has the parameters. */
  public static Route pull(int holder, int joiner) {
    return new Route(List.of(holder, joiner), 1, Move.READ);
  }

  private static List<Integer> all(int ranks) {
    return IntStream.range(0, ranks).boxed().toList();
  }

  /** The rank that has the parameters. */
  public int source() {
    return ranks.getFirst();
  }

  /** The ranks that get the parameters. */
  List<Integer> followers() {
    return ranks.subList(1, ranks.size());
  }

  /** The rank from which this one gets them; -1 for the source. */
  int parent(int rank) {
    int place = ranks.indexOf(rank);
    return place == 0 ? -1 : ranks.get((place - 1) / fanOut);
  }

  /** The ranks to which one of the route passes them on; none if it is the end. */
  public int[] children(int rank) {
    long first = (long) ranks.indexOf(rank) * fanOut + 1;
    int end = (int) Math.min(ranks.size(), first + fanOut);
    return IntStream.range((int) Math.min(ranks.size(), first), end).map(ranks::get).toArray();
  }
}
