package org.verbena.moe;

import java.util.Arrays;
import java.util.stream.IntStream;
import java.util.zip.CRC32C;

/**
 * Which rank owns which expert. A rank's local experts are those it owns, in ascending order of id;
 * a rank may own none. Immutable.
 */
public final class ExpertPlacement {
  private final String description;
  private final int[] owners;
  private final int[][] local;

  private ExpertPlacement(int[] owners, int ranks) {
    CRC32C checksum = new CRC32C();
    for (int owner : owners) {
      for (int shift = 0; shift < Integer.SIZE; shift += Byte.SIZE) {
        checksum.update(owner >>> shift);
      }
    }
    this.description =
        "%d experts on %d ranks, CRC32C %08x".formatted(owners.length, ranks, checksum.getValue());
    this.owners = owners;
    this.local = new int[ranks][];
    for (int rank = 0; rank < ranks; rank++) {
      int of = rank;
      local[rank] = IntStream.range(0, owners.length).filter(e -> owners[e] == of).toArray();
    }
  }

  /**
   * Contiguous blocks: of E = qR + r experts the first r ranks own q + 1 each, the others q.
   *
   * @throws IllegalArgumentException if there is not at least one expert and one rank
   */
  public static ExpertPlacement contiguous(int experts, int ranks) {
    if (experts < 1 || ranks < 1) {
      throw new IllegalArgumentException(
          "a placement needs at least 1 expert and 1 rank, got %d and %d"
              .formatted(experts, ranks));
    }
    int[] owners = new int[experts];
    int quotient = experts / ranks;
    int remainder = experts % ranks;
    int expert = 0;
    for (int rank = 0; rank < ranks; rank++) {
      int owned = quotient + (rank < remainder ? 1 : 0);
      Arrays.fill(owners, expert, expert + owned, rank);
      expert += owned;
    }
    return new ExpertPlacement(owners, ranks);
  }

  /**
   * Wherever a table says.
   *
   * @param owners for each expert the rank that owns it; copied
   * @throws IllegalArgumentException if the table is empty or names a rank that does not exist
   */
  public static ExpertPlacement table(int[] owners, int ranks) {
    if (owners.length < 1) {
      throw new IllegalArgumentException("a placement needs at least 1 expert, the table has none");
    }
    for (int expert = 0; expert < owners.length; expert++) {
      int owner = owners[expert];
      if (owner < 0 || owner >= ranks) {
        throw new IllegalArgumentException(
            "the table places expert %d on rank %d; ranks are 0 to %d"
                .formatted(expert, owner, ranks - 1));
      }
    }
    return new ExpertPlacement(owners.clone(), ranks);
  }

  /** How many experts there are on all ranks. */
  public int experts() {
    return owners.length;
  }

  /** How many ranks there are. */
  public int ranks() {
    return local.length;
  }

  /** The rank that owns an expert. */
  public int owner(int expert) {
    return owners[expert];
  }

  /** How many experts a rank owns. */
  public int localExperts(int rank) {
    return local[rank].length;
  }

  /** The id of a rank's local expert, counted from 0. */
  public int localExpert(int rank, int index) {
    return local[rank][index];
  }

  /** Sizes and a checksum: alike on two ranks whose placements are alike, and else hardly ever. */
  @Override
  public String toString() {
    return description;
  }
}
