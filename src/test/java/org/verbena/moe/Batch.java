package org.verbena.moe;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import org.verbena.layout.ExchangeShape;
import org.verbena.transport.sim.ProtocolViolation;

/**
 * What one rank puts into one round, and what must come of it to the bit: computed from the
 * definition, without the exchange's code. Experts return the values they get, those with odd ids
 * with the sign turned.
 */
final class Batch {
  final int count;
  final MemorySegment tokens;
  final MemorySegment experts;
  final MemorySegment weights;

  private final ExchangeShape shape;
  private final int[] owners;

  /**
   * @param owners for each expert the rank that owns it
   * @param ids expert ids [n][K]
   * @param random gives values and weights
   */
  Batch(ExchangeShape shape, int[] owners, int[] ids, Random random) {
    this.shape = shape;
    this.owners = owners;
    this.count = ids.length / shape.topk();
    Arena arena = Arena.ofAuto();
    tokens = arena.allocate(Math.max(1, 2L * count * shape.hidden()), 64);
    experts = arena.allocate(Math.max(1, 4L * ids.length), 64);
    weights = arena.allocate(Math.max(1, 4L * ids.length), 64);
    for (int i = 0; i < count * shape.hidden(); i++) {
      // Positive and of moderate size, so that sums are no NaN.
      tokens.setAtIndex(ValueLayout.JAVA_SHORT, i, (short) (0x3E00 + random.nextInt(0x300)));
    }
    for (int i = 0; i < ids.length; i++) {
      experts.setAtIndex(ValueLayout.JAVA_INT, i, ids[i]);
      weights.setAtIndex(ValueLayout.JAVA_FLOAT, i, ids[i] < 0 ? Float.NaN : random.nextFloat());
    }
  }

  private int expert(int token, int k) {
    return experts.getAtIndex(ValueLayout.JAVA_INT, (long) token * shape.topk() + k);
  }

  private float weight(int token, int k) {
    return weights.getAtIndex(ValueLayout.JAVA_FLOAT, (long) token * shape.topk() + k);
  }

  /** Whether a token goes to a rank. */
  boolean goesTo(int token, int rank) {
    for (int k = 0; k < shape.topk(); k++) {
      int expert = expert(token, k);
      if (expert >= 0 && owners[expert] == rank) {
        return true;
      }
    }
    return false;
  }

  /** How many tokens go to a rank. */
  int rows(int rank) {
    int rows = 0;
    for (int token = 0; token < count; token++) {
      rows += goesTo(token, rank) ? 1 : 0;
    }
    return rows;
  }

  /** What an expert makes of a value. */
  static short output(int expert, short value) {
    return (short) (value ^ ((expert & 1) << 15));
  }

  /** The row that goes back from a rank, one value of it. */
  short sum(int token, int rank, int column) {
    short value = tokens.getAtIndex(ValueLayout.JAVA_SHORT, (long) token * shape.hidden() + column);
    float sum = 0;
    for (int k = 0; k < shape.topk(); k++) {
      int expert = expert(token, k);
      if (expert >= 0 && owners[expert] == rank) {
        sum = Math.fma(weight(token, k), number(output(expert, value)), sum);
      }
    }
    return nearest(sum);
  }

  /** Checks the results of a round. */
  void checkResults(int rank, long epoch, MemorySegment results) {
    for (int token = 0; token < count; token++) {
      for (int column = 0; column < shape.hidden(); column++) {
        float sum = 0;
        for (int peer = 0; peer < shape.ranks(); peer++) {
          if (goesTo(token, peer)) {
            sum += number(sum(token, peer, column));
          }
        }
        long i = (long) token * shape.hidden() + column;
        short found = results.getAtIndex(ValueLayout.JAVA_SHORT, i);
        if (found != nearest(sum)) {
          throw new ProtocolViolation(
              "rank %d: result of epoch %d, token %d, column %d: expected %s, found %s"
                  .formatted(rank, epoch, token, column, number(nearest(sum)), number(found)));
        }
      }
    }
  }

  /** Checks the rows, and their entries, that this batch of a source brought to a rank. */
  void checkRows(ReceivedRows rows, int source, int rank) {
    int row = rows.firstRow(source);
    for (int token = 0; token < count; token++) {
      if (goesTo(token, rank)) {
        require(rows, "source of row", source, rows.source(row));
        require(rows, "token of row", token, rows.token(row));
        long at = rows.offset(row);
        long bytes = 2L * shape.hidden();
        if (MemorySegment.mismatch(
                rows.memory(), at, at + bytes, tokens, token * bytes, token * bytes + bytes)
            >= 0) {
          throw new ProtocolViolation(
              "rank %d: row %d of epoch %d is not token %d of rank %d"
                  .formatted(rank, row, rows.epoch(), token, source));
        }
        checkEntries(rows, row, token, rank);
        row++;
      }
    }
    require(rows, "rows of rank " + source, row - rows.firstRow(source), rows.rows(source));
  }

  private void checkEntries(ReceivedRows rows, int row, int token, int rank) {
    int entries = 0;
    for (int k = 0; k < shape.topk(); k++) {
      int expert = expert(token, k);
      if (expert >= 0 && owners[expert] == rank) {
        int entry = rows.entryOfRow(row, entries++);
        require(rows, "row of entry", row, rows.entryRow(entry));
        int weight = Float.floatToIntBits(weight(token, k));
        require(rows, "weight", weight, Float.floatToIntBits(rows.entryWeight(entry)));
      }
    }
    require(rows, "entries of row", entries, rows.entriesOfRow(row));
  }

  private static void require(ReceivedRows rows, String what, int expected, int found) {
    if (expected != found) {
      throw new ProtocolViolation(
          "%s in epoch %d: expected %d, found %d".formatted(what, rows.epoch(), expected, found));
    }
  }

  private static float number(short bf16) {
    return Float.intBitsToFloat(bf16 << 16);
  }

  /** To nearest, ties to even. */
  private static short nearest(float number) {
    int bits = Float.floatToIntBits(number);
    return (short) ((bits + 0x7FFF + ((bits >>> 16) & 1)) >>> 16);
  }
}
