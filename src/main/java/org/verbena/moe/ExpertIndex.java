package org.verbena.moe;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.verbena.layout.BufferLayout;
import org.verbena.layout.ExchangeShape;

/**
 * What a rank received in a round, by local expert.
 *
 * <p>A row is one message: rows are numbered by source rank, then slot. An entry is one use of a
 * row by one local expert: entries are numbered by local expert, then row, then place in the
 * token's top-k.
 */
final class ExpertIndex {
  private static final int NONE = -1;

  private final ExchangeShape shape;
  private final int rank;

  /** Place of an expert among the local ones, at [expert]; -1 for the others. */
  private final int[] localIndex;

  private final int[] firstRow;
  private final int[] firstEntry;
  private final int[] fill;

  /** Where a row's entries are in {@link #entriesByRow}. */
  private final int[] firstOfRow;

  private final int[] entriesByRow;
  private final int[] entryRow;
  private final float[] entryWeight;

  ExpertIndex(ExchangeShape shape, ExpertPlacement placement, int rank) {
    this.shape = shape;
    this.rank = rank;
    int local = placement.localExperts(rank);
    int rows = Math.multiplyExact(shape.ranks(), shape.tokens());
    int entries = local == 0 ? 0 : Math.multiplyExact(rows, shape.topk());
    localIndex = new int[shape.experts()];
    Arrays.fill(localIndex, NONE);
    for (int i = 0; i < local; i++) {
      localIndex[placement.localExpert(rank, i)] = i;
    }
    firstRow = new int[shape.ranks() + 1];
    firstEntry = new int[local + 1];
    fill = new int[local];
    firstOfRow = new int[rows + 1];
    entriesByRow = new int[entries];
    entryRow = new int[entries];
    entryWeight = new float[entries];
  }

  /** Takes the rows that a peer sent; peers in ascending order. */
  void addRows(int peer, int rows) {
    firstRow[peer + 1] = firstRow[peer] + rows;
  }

  /** Reads the routing entries of all rows. */
  void build(BufferLayout layout, int half, MemorySegment window) {
    Arrays.fill(fill, 0);
    countEntries(layout, half, window);
    firstEntry[0] = 0;
    for (int local = 0; local < fill.length; local++) {
      firstEntry[local + 1] = firstEntry[local] + fill[local];
      fill[local] = firstEntry[local];
    }
    placeEntries(layout, half, window);
  }

  private void countEntries(BufferLayout layout, int half, MemorySegment window) {
    int entries = 0;
    for (int peer = 0; peer < shape.ranks(); peer++) {
      for (int slot = 0; slot < rows(peer); slot++) {
        firstOfRow[firstRow[peer] + slot] = entries;
        checkToken(
            peer, slot, window.get(ValueLayout.JAVA_INT, tokenOffset(layout, half, peer, slot)));
        long at = layout.routingReceive(half, peer, slot);
        for (int k = 0; k < shape.topk(); k++) {
          int expert = window.get(ValueLayout.JAVA_INT, at + (long) BufferLayout.ENTRY_BYTES * k);
          if (expert == NONE) {
            break;
          }
          fill[local(peer, slot, expert)]++;
          entries++;
        }
      }
    }
    firstOfRow[rows()] = entries;
  }

  private static long tokenOffset(BufferLayout layout, int half, int peer, int slot) {
    return layout.dispatchReceive(half, peer, slot) + layout.tokenIndexOffset();
  }

  private void checkToken(int peer, int slot, int token) {
    if (token < 0 || token >= shape.tokens()) {
      throw new ExchangeException(
          peer,
          "rank %d: dispatch receive: rank %d sent a row in slot %d of token %d; tokens are 0 to %d"
              .formatted(rank, peer, slot, token, shape.tokens() - 1));
    }
  }

  private int local(int peer, int slot, int expert) {
    if (expert < 0 || expert >= localIndex.length || localIndex[expert] == NONE) {
      throw new ExchangeException(
          peer,
          "rank %d: dispatch receive: rank %d sent a row in slot %d for expert %d, which is not here"
              .formatted(rank, peer, slot, expert));
    }
    return localIndex[expert];
  }

  private void placeEntries(BufferLayout layout, int half, MemorySegment window) {
    for (int peer = 0; peer < shape.ranks(); peer++) {
      for (int slot = 0; slot < rows(peer); slot++) {
        int row = firstRow[peer] + slot;
        long at = layout.routingReceive(half, peer, slot);
        for (int i = firstOfRow[row];
            i < firstOfRow[row + 1];
            i++, at += BufferLayout.ENTRY_BYTES) {
          int entry = fill[localIndex[window.get(ValueLayout.JAVA_INT, at)]]++;
          entryRow[entry] = row;
          entryWeight[entry] = window.get(ValueLayout.JAVA_FLOAT, at + 4);
          entriesByRow[i] = entry;
        }
      }
    }
  }

  int rows() {
    return firstRow[shape.ranks()];
  }

  int rows(int peer) {
    return firstRow[peer + 1] - firstRow[peer];
  }

  int firstRow(int peer) {
    return firstRow[peer];
  }

  /** The rank that a row came from. */
  int source(int row) {
    int at = Arrays.binarySearch(firstRow, row);
    if (at < 0) {
      return -at - 2;
    }
    while (firstRow[at + 1] == row) {
      at++; // Ranks that sent nothing begin at the same row.
    }
    return at;
  }

  int localExperts() {
    return fill.length;
  }

  int entries() {
    return firstEntry[fill.length];
  }

  int firstEntry(int local) {
    return firstEntry[local];
  }

  int entries(int local) {
    return firstEntry[local + 1] - firstEntry[local];
  }

  int entryRow(int entry) {
    return entryRow[entry];
  }

  float entryWeight(int entry) {
    return entryWeight[entry];
  }

  int entriesOfRow(int row) {
    return firstOfRow[row + 1] - firstOfRow[row];
  }

  /** A row's entries in top-k order. */
  int entryOfRow(int row, int i) {
    return entriesByRow[firstOfRow[row] + i];
  }
}
