package org.verbena.cli;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.verbena.verbs.QueuePairOptions;

/** A latency: one request at a time. */
abstract class PerfLatency extends PerfMeasure {
  private static final int PAGE_BYTES = 4096;
  private static final int INLINE_BYTES = 220;

  PerfLatency(int number, int size) {
    super(number, size, 2);
  }

  @Override
  QueuePairOptions pairOptions() {
    return RdmaOptions.PAIR.withDepths(16, 16).withInline(options().inline(INLINE_BYTES));
  }

  /** One half is written to, from the other is sent; each begins on a page. */
  @Override
  final long bufferBytes() {
    return 2 * half();
  }

  final long half() {
    return Math.ceilDiv((long) size(), PAGE_BYTES) * PAGE_BYTES;
  }

  final boolean isInline(PerfConnection connection) {
    return isInline(connection, INLINE_BYTES);
  }

  /** Requests of a run. */
  final int requests() {
    return options().warmup() + options().iterations();
  }

  /**
   * Prints the times between posts, divided by {@code ways}.
   *
   * @param posted when each request was posted, those to warm up too
   */
  final void report(long[] posted, int ways) {
    int first = options().warmup();
    double[] micros = new double[posted.length - 1 - first];
    for (int i = 0; i < micros.length; i++) {
      micros[i] = (posted[first + i + 1] - posted[first + i]) / (1000.0 * ways);
    }
    Arrays.sort(micros);
    double average = Arrays.stream(micros).average().orElse(0);
    double deviation =
        Math.sqrt(
            Arrays.stream(micros).map(m -> (m - average) * (m - average)).average().orElse(0));
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("t_min[usec]", micros[0]);
    result.put("t_max[usec]", micros[micros.length - 1]);
    result.put("t_typical[usec]", micros[micros.length / 2]);
    result.put("t_avg[usec]", average);
    result.put("t_stdev[usec]", deviation);
    result.put("99% percentile[usec]", quantile(micros, 0.99));
    result.put("99.9% percentile[usec]", quantile(micros, 0.999));
    if (options().json()) {
      Map<String, Object> all = new LinkedHashMap<>();
      all.put("bytes", size());
      all.put("iterations", options().iterations());
      all.putAll(result);
      System.out.println(Json.of(all));
      return;
    }
    StringBuilder head = new StringBuilder(" #bytes #iterations");
    StringBuilder row =
        new StringBuilder(
            String.format(Locale.ROOT, " %-6d %-11d", size(), options().iterations()));
    result.forEach(
        (name, value) -> {
          head.append("    ").append(name);
          row.append(String.format(Locale.ROOT, "    %-" + name.length() + ".2f", (Double) value));
        });
    System.out.println(head);
    System.out.println(row);
  }

  private static double quantile(double[] sorted, double part) {
    return sorted[(int) Math.min(sorted.length - 1L, (long) Math.ceil(sorted.length * part) - 1)];
  }
}
