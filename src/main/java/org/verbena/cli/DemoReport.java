package org.verbena.cli;

import java.util.Formatter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.verbena.acceptance.Acceptance.Phase;
import org.verbena.layout.BufferLayout;
import org.verbena.layout.ExchangeShape;
import org.verbena.layout.LayoutTable;

/**
 * What a demo measured, over all ranks and timed rounds.
 *
 * @param paths how each rank reaches each, in words
 * @param nanos times of a phase in ascending order
 * @param dispatchedRows rows sent in dispatches
 * @param remoteBytes bytes of messages sent to other ranks, dispatch and combine
 * @param copiedBytes bytes of messages that the library put where they leave from
 * @param signals signals sent
 * @param postedBytes payload of all requests to the network, signals included
 * @param verifiedValues values compared with the reference, those of warming up included
 */
record DemoReport(
    BufferLayout layout,
    String transport,
    List<List<String>> paths,
    int rounds,
    Map<Phase, long[]> nanos,
    long dispatchedRows,
    long remoteBytes,
    long copiedBytes,
    long signals,
    long postedBytes,
    long verifiedValues) {

  String text() {
    ExchangeShape shape = layout.shape();
    Formatter text = new Formatter(Locale.ROOT);
    text.format(
        "%d ranks over %s: %d tokens of %d values each, %d experts, top-%d%n%n",
        shape.ranks(), transport, shape.tokens(), shape.hidden(), shape.experts(), shape.topk());
    if (!transport.equals("shm")) {
      formatPaths(text);
    }
    text.format("buffer of a rank%n%s%n", LayoutTable.summary(layout));
    text.format("%-18s %10s %10s %10s%n", "latency (us)", "p50", "p99", "max");
    nanos.forEach(
        (phase, sorted) ->
            text.format(
                "%-18s %,10.1f %,10.1f %,10.1f%n",
                name(phase), micros(sorted, 0.50), micros(sorted, 0.99), micros(sorted, 1)));
    text.format(
        "%na token goes to %.2f ranks; per rank and round: %,.0f rows, %,.0f bytes to other ranks,"
            + " %,.0f copied, %.1f signals%n",
        dispatchedRows / (double) perRank(shape.tokens()),
        dispatchedRows / (double) perRank(1),
        remoteBytes / (double) perRank(1),
        copiedBytes / (double) perRank(1),
        signals / (double) perRank(1));
    if (postedBytes > 0) {
      text.format(
          "posted to the network per rank and round: %,.0f bytes, signals included%n",
          postedBytes / (double) perRank(1));
    }
    boolean fast = bandwidth() >= 1e9;
    text.format(
        fast
            ? "bandwidth of all ranks together: %,.2f GB/s%n"
            : "bandwidth of all ranks together: %,.1f MB/s%n",
        bandwidth() / (fast ? 1e9 : 1e6));
    text.format(
        "verified: %,d values in %d rounds, %d of them to warm up; none wrong%n",
        verifiedValues, 2 * rounds, rounds);
    return text.toString();
  }

  private void formatPaths(Formatter text) {
    text.format("path%n");
    for (int from = 0; from < paths.size(); from++) {
      for (int to = 0; to < paths.size(); to++) {
        if (from != to) {
          text.format("%d -> %d  %s%n", from, to, paths.get(from).get(to));
        }
      }
    }
    text.format("%n");
  }

  String json() {
    Map<String, Object> members = new LinkedHashMap<>();
    ExchangeShape shape = layout.shape();
    members.put("transport", transport);
    members.put("paths", paths);
    members.put("ranks", shape.ranks());
    members.put("tokens", shape.tokens());
    members.put("hidden", shape.hidden());
    members.put("experts", shape.experts());
    members.put("topk", shape.topk());
    members.put("rounds", rounds);
    members.put("bufferBytes", layout.allocationBytes());
    nanos.forEach(
        (phase, sorted) -> {
          Map<String, Object> times = new LinkedHashMap<>();
          times.put("p50Micros", micros(sorted, 0.50));
          times.put("p99Micros", micros(sorted, 0.99));
          times.put("maxMicros", micros(sorted, 1));
          members.put(name(phase).replace(' ', '_'), times);
        });
    members.put("dispatchedRows", dispatchedRows);
    members.put("remoteBytes", remoteBytes);
    members.put("copiedBytes", copiedBytes);
    members.put("signals", signals);
    members.put("postedBytes", postedBytes);
    members.put("bytesPerSecond", bandwidth());
    members.put("verifiedValues", verifiedValues);
    return Json.of(members);
  }

  private long perRank(int each) {
    return (long) rounds * layout.shape().ranks() * each;
  }

  /** What all ranks copied, over the time that a rank spent in the exchange, by the median. */
  private double bandwidth() {
    double seconds = 0;
    for (long[] sorted : nanos.values()) {
      seconds += micros(sorted, 0.50) / 1e6;
    }
    return copiedBytes / (double) rounds / seconds;
  }

  private static String name(Phase phase) {
    return phase.name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }

  private static double micros(long[] sorted, double quantile) {
    int at = (int) Math.ceil(quantile * sorted.length) - 1;
    return sorted[Math.max(at, 0)] / 1e3;
  }
}
