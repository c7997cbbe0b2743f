package org.verbena.acceptance;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.ReceivedRows;

/**
 * What a rank must receive, and what its tokens must become, from the definition: in double
 * precision, and without any of the exchange's code.
 */
final class Reference {
  /** Half a unit in the last place of bf16, relative to the number. */
  private static final double HALF_ULP = 1.0 / 256;

  private static final double MOST_DIFFERENCE = 1e-5;

  private final ExchangeShape shape;
  private final int[] owners;
  private final int rank;
  private final Sample[] samples;
  private final double[] sums;

  /**
   * @param owners for each expert the rank that owns it
   * @param samples what each rank puts in
   */
  Reference(ExchangeShape shape, int[] owners, int rank, Sample[] samples) {
    this.shape = shape;
    this.owners = owners;
    this.rank = rank;
    this.samples = samples;
    this.sums = new double[samples.length];
  }

  /** The factor of a scaling expert. */
  static float factor(int expert) {
    return 1 + expert % 7 / 8f;
  }

  /** Checks what came of a dispatch: rows, their order and content, and every entry. */
  void checkReceived(ReceivedRows rows) {
    int row = 0;
    for (int source = 0; source < samples.length; source++) {
      int first = row;
      require("first row from rank " + source, first, rows.firstRow(source));
      for (int token = 0; token < samples[source].count; token++) {
        if (comesHere(samples[source], token)) {
          checkRow(rows, row, source, token);
          row++;
        }
      }
      require("rows from rank " + source, row - first, rows.rows(source));
    }
    require("rows", row, rows.rows());
    checkEntries(rows);
  }

  private boolean comesHere(Sample sample, int token) {
    for (int k = 0; k < shape.topk(); k++) {
      int expert = sample.experts[token * shape.topk() + k];
      if (expert != -1 && owners[expert] == rank) {
        return true;
      }
    }
    return false;
  }

  private void checkRow(ReceivedRows rows, int row, int source, int token) {
    if (row >= rows.rows()) {
      throw wrong("row %d (rank %d, token %d) is missing".formatted(row, source, token));
    }
    require("source of row " + row, source, rows.source(row));
    require("token of row " + row, token, rows.token(row));
    MemorySegment memory = rows.memory();
    long offset = rows.offset(row);
    for (int column = 0; column < shape.hidden(); column++) {
      short expected = samples[source].tokens[token * shape.hidden() + column];
      short found = memory.get(ValueLayout.JAVA_SHORT, offset + 2L * column);
      if (expected != found) {
        throw wrong(
            "dispatch: from rank %d, token %d, column %d: expected %s, found %s"
                .formatted(source, token, column, Sample.number(expected), Sample.number(found)));
      }
    }
  }

  private void checkEntries(ReceivedRows rows) {
    int entry = 0;
    int local = 0;
    for (int expert = 0; expert < owners.length; expert++) {
      if (owners[expert] == rank) {
        require("id of local expert " + local, expert, rows.expertId(local));
        int first = entry;
        require("first entry of expert " + expert, first, rows.firstEntry(local));
        entry = checkEntriesOf(rows, expert, entry);
        require("entries of expert " + expert, entry - first, rows.entries(local));
        local++;
      }
    }
    require("local experts", local, rows.experts());
    require("entries", entry, rows.entries());
  }

  private int checkEntriesOf(ReceivedRows rows, int expert, int from) {
    int entry = from;
    int row = 0;
    for (Sample sample : samples) {
      for (int token = 0; token < sample.count; token++) {
        for (int k = 0; k < shape.topk(); k++) {
          int i = token * shape.topk() + k;
          if (sample.experts[i] == expert) {
            require("row of entry " + entry, row, rows.entryRow(entry));
            float expected = sample.weights[i];
            float found = rows.entryWeight(entry);
            if (expected != found) {
              throw wrong(
                  "weight of entry %d: expected %s, found %s".formatted(entry, expected, found));
            }
            entry++;
          }
        }
        row += comesHere(sample, token) ? 1 : 0;
      }
    }
    return entry;
  }

  /**
   * Checks what came of a combine.
   *
   * @param scaled whether experts multiply by their {@linkplain #factor factor}, rounded to bf16
   */
  void checkResults(MemorySegment results, boolean scaled) {
    Sample sample = samples[rank];
    double product = 0;
    double squares = 0;
    for (int token = 0; token < sample.count; token++) {
      for (int column = 0; column < shape.hidden(); column++) {
        long at = (long) token * shape.hidden() + column;
        double found = Sample.number(results.getAtIndex(ValueLayout.JAVA_SHORT, at));
        double expected = checkResult(sample, token, column, found, scaled);
        product += expected * found;
        squares += expected * expected + found * found;
      }
    }
    double difference = squares == 0 ? 0 : 1 - 2 * product / squares;
    if (!(difference < MOST_DIFFERENCE)) {
      throw wrong(
          "combine: results differ from the reference by %s, at most %s is accepted"
              .formatted(difference, MOST_DIFFERENCE));
    }
  }

  /** Each rank's sum is rounded once and the total once, so the error is bounded by both. */
  private double checkResult(Sample sample, int token, int column, double found, boolean scaled) {
    addUp(sample, token, column, scaled);
    double total = 0;
    double bound = 0;
    for (double sum : sums) {
      total += sum;
      bound += Math.abs(sum) * HALF_ULP;
    }
    bound += Math.abs(total) * HALF_ULP;
    double error = Math.abs(found - total);
    if (!(error <= bound * 1.01 + Float.MIN_NORMAL)) {
      throw wrong(
          "combine: token %d, column %d: expected %s, found %s, off by %s of at most %s"
              .formatted(token, column, total, found, error, bound));
    }
    return total;
  }

  /** Fills {@link #sums} with what each rank adds to a value. */
  private void addUp(Sample sample, int token, int column, boolean scaled) {
    Arrays.fill(sums, 0);
    float value = Sample.number(sample.tokens[token * shape.hidden() + column]);
    for (int k = 0; k < shape.topk(); k++) {
      int i = token * shape.topk() + k;
      int expert = sample.experts[i];
      if (expert != -1) {
        float output = scaled ? Sample.number(Sample.nearest(value * factor(expert))) : value;
        sums[owners[expert]] += (double) sample.weights[i] * output;
      }
    }
  }

  private void require(String what, int expected, int found) {
    if (expected != found) {
      throw wrong("dispatch: %s: expected %d, found %d".formatted(what, expected, found));
    }
  }

  private WrongValueException wrong(String what) {
    return new WrongValueException("rank " + rank + ": " + what);
  }
}
