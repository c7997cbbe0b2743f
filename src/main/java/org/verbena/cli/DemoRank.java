package org.verbena.cli;

import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.verbena.acceptance.Acceptance;
import org.verbena.acceptance.Acceptance.CombineWay;
import org.verbena.acceptance.Acceptance.Phase;
import org.verbena.acceptance.Acceptance.PhaseOrder;
import org.verbena.bootstrap.Group;
import org.verbena.layout.BufferLayout;
import org.verbena.layout.ExchangeShape;
import org.verbena.layout.LayoutOptions;
import org.verbena.moe.Counters;
import org.verbena.moe.Exchange;
import org.verbena.moe.ExchangeConfig;
import org.verbena.transport.TransportProvider;

/** One rank of the demo: runs its rounds, and gathers what all ranks measured. */
final class DemoRank {
  private final Group group;
  private final TransportProvider provider;
  private final ExchangeShape shape;
  private final int rounds;
  private final Duration timeout;
  private final long seed;

  DemoRank(
      Group group,
      TransportProvider provider,
      ExchangeShape shape,
      int rounds,
      Duration timeout,
      long seed) {
    this.group = group;
    this.provider = provider;
    this.shape = shape;
    this.rounds = rounds;
    this.timeout = timeout;
    this.seed = seed;
  }

  DemoReport run() {
    long[][] nanos = new long[Phase.values().length][rounds];
    try (Exchange exchange = Exchange.open(group, provider, config(shape, timeout))) {
      long verified = run(exchange, false, "warming up", new long[nanos.length][rounds]);
      long[] before = figures(exchange);
      verified += run(exchange, true, "measuring", nanos);
      long[] after = figures(exchange);
      List<long[]> all = new ArrayList<>();
      for (byte[] bytes : group.allGather("figures", encode(nanos, before, after, verified))) {
        LongBuffer figures = ByteBuffer.wrap(bytes).asLongBuffer();
        long[] rank = new long[figures.remaining()];
        figures.get(rank);
        all.add(rank);
      }
      return report(exchange, all, paths(exchange));
    }
  }

  private static ExchangeConfig config(ExchangeShape shape, Duration timeout) {
    return ExchangeConfig.builder(shape).timeout(timeout).build();
  }

  /** Throws IllegalArgumentException, saying why, if no exchange can be opened like this. */
  static void checkConfig(ExchangeShape shape, Duration timeout) {
    ExchangeConfig config = config(shape, timeout);
    LayoutOptions options = LayoutOptions.of(LayoutOptions.Kind.SHARED).withScale(config.scale());
    BufferLayout _ = new BufferLayout(shape, options);
  }

  /** Runs all rounds, with experts that are the identity, or that scale. */
  private long run(Exchange exchange, boolean scaled, String what, long[][] nanos) {
    try (Acceptance acceptance =
        new Acceptance(exchange, (rank, input) -> shape.tokens(), scaled, seed)) {
      acceptance.run(
          rounds,
          PhaseOrder.SEQUENTIAL,
          CombineWay.HANDED_OVER,
          (round, phase, took) -> {
            nanos[index(phase)][round] = took;
            if (group.rank() == 0 && phase == Phase.COMBINE_RECEIVE) {
              System.err.printf(
                  "%s%s: round %d of %d verified%n", RankOutput.PROGRESS, what, round + 1, rounds);
            }
          });
      return acceptance.verifiedValues();
    }
  }

  private static int index(Phase phase) {
    return List.of(Phase.values()).indexOf(phase);
  }

  private static long[] figures(Exchange exchange) {
    Counters counters = exchange.counters();
    return new long[] {
      counters.dispatchedRows(),
      counters.remoteBytes(),
      counters.copiedBytes(),
      counters.signals(),
      exchange.traffic().bytes()
    };
  }

  private static byte[] encode(long[][] nanos, long[] before, long[] after, long verified) {
    int rounds = nanos[0].length;
    ByteBuffer bytes =
        ByteBuffer.allocate(Long.BYTES * (nanos.length * rounds + before.length + 1));
    for (long[] phase : nanos) {
      for (long took : phase) {
        bytes.putLong(took);
      }
    }
    for (int i = 0; i < before.length; i++) {
      bytes.putLong(after[i] - before[i]);
    }
    bytes.putLong(verified);
    return bytes.array();
  }

  /** How each rank reaches each, in words. */
  private List<List<String>> paths(Exchange exchange) {
    List<String> mine = IntStream.range(0, group.size()).mapToObj(exchange::path).toList();
    byte[] lines = String.join("\n", mine).getBytes(StandardCharsets.UTF_8);
    return group.allGather("paths", lines).stream()
        .map(rank -> List.of(new String(rank, StandardCharsets.UTF_8).split("\n", -1)))
        .toList();
  }

  private DemoReport report(Exchange exchange, List<long[]> ranks, List<List<String>> paths) {
    Map<Phase, long[]> nanos = new EnumMap<>(Phase.class);
    int at = 0;
    for (Phase phase : Phase.values()) {
      int from = at;
      nanos.put(
          phase,
          ranks.stream()
              .flatMapToLong(rank -> Arrays.stream(rank, from, from + rounds))
              .sorted()
              .toArray());
      at += rounds;
    }
    long[] sums = new long[ranks.getFirst().length - at];
    for (long[] rank : ranks) {
      for (int i = 0; i < sums.length; i++) {
        sums[i] += rank[at + i];
      }
    }
    return new DemoReport(
        exchange.layout(),
        provider.name(),
        paths,
        rounds,
        nanos,
        sums[0],
        sums[1],
        sums[2],
        sums[3],
        sums[4],
        sums[5]);
  }
}
