package org.verbena.bootstrap;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the ranks have given to one {@link Group#allGather} so far. */
final class Parts {
  private final byte[] @Nullable [] byRank;
  private int count;
  private int firstRank;
  private String operation = "";

  Parts(int size) {
    this.byRank = new byte[size] @Nullable [];
  }

  /** Adds the part of a rank; returns why that cannot be right, or null. */
  @Nullable String add(int rank, String operation, byte[] bytes) {
    if (count == 0) {
      this.operation = operation;
      this.firstRank = rank;
    } else if (!operation.equals(this.operation)) {
      return String.format(
          "rank %d is in '%s' but rank %d in '%s'; all ranks must make the same calls in the same"
              + " order",
          firstRank, this.operation, rank, operation);
    }
    if (byRank[rank] == null) {
      count++;
    }
    byRank[rank] = bytes;
    return null;
  }

  boolean has(int rank) {
    return byRank[rank] != null;
  }

  boolean complete() {
    return count == byRank.length;
  }

  List<Integer> missing() {
    return Ranks.missing(byRank);
  }

  /** The parts of all ranks, in rank order; call when complete. */
  List<byte[]> copy() {
    List<byte[]> all = new ArrayList<>(byRank.length);
    for (byte[] part : byRank) {
      if (part != null) {
        all.add(part.clone());
      }
    }
    return List.copyOf(all);
  }

  static void checkSize(String operation, byte[] part) {
    if (part.length > Group.MAX_PART_BYTES) {
      throw new IllegalArgumentException(
          String.format(
              "%d bytes given to '%s', but a rank can give at most %d",
              part.length, operation, Group.MAX_PART_BYTES));
    }
  }

  /** The beginning of an error message. */
  static String where(int rank, int size, String operation) {
    return "rank " + rank + " of " + size + ", '" + operation + "': ";
  }

  static String late(List<Integer> missing, Duration timeout) {
    return String.format(
        "nothing from %s within %s s; see whether they still run, or allow more time",
        Ranks.name(missing), timeout.toMillis() / 1000.0);
  }
}
