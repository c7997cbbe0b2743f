package org.verbena.cli;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.verbena.bootstrap.Group;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.Bf16;
import org.verbena.moe.Exchange;
import org.verbena.moe.ExchangeConfig;
import org.verbena.moe.ExpertPlacement;
import org.verbena.moe.ReceivedRows;
import org.verbena.transport.TransportProvider;

/** One rank of a replay: exchanges its capture, and writes what came of it. */
final class ReplayRank {
  private final Group group;
  private final TransportProvider provider;
  private final Path directory;
  private final ExchangeShape shape;
  private final ExpertPlacement placement;
  private final boolean scaled;
  private final Duration timeout;
  private final boolean json;

  ReplayRank(
      Group group,
      TransportProvider provider,
      Path directory,
      ExchangeShape shape,
      ExpertPlacement placement,
      boolean scaled,
      Duration timeout,
      boolean json) {
    this.group = group;
    this.provider = provider;
    this.directory = directory;
    this.shape = shape;
    this.placement = placement;
    this.scaled = scaled;
    this.timeout = timeout;
    this.json = json;
  }

  void run(Capture capture, int rounds) throws IOException {
    ExchangeConfig config =
        ExchangeConfig.builder(shape).placement(placement).timeout(timeout).build();
    try (Arena arena = Arena.ofConfined();
        Exchange exchange = Exchange.open(group, provider, config)) {
      int[] counts = new int[placement.localExperts(group.rank())];
      MemorySegment first = results(capture, arena);
      MemorySegment again = results(capture, arena);
      round(exchange, capture, counts, first);
      progress(1, rounds);
      for (int round = 1; round < rounds; round++) {
        round(exchange, capture, counts, again);
        progress(round + 1, rounds);
        long at = first.mismatch(again);
        if (at >= 0) {
          throw new IOException(
              "rank %d: round %d gave another result than the first, at byte %d of [%d][%d] bf16"
                  .formatted(group.rank(), round, at, capture.count(), shape.hidden()));
        }
      }
      // Only when all ranks have all results does any rank write.
      group.allGather("results", new byte[0]);
      write(capture, first, arena.allocateFrom(ValueLayout.JAVA_INT, counts));
      group.allGather("files", new byte[0]);
      if (json && group.rank() == 0) {
        System.out.println(Json.of(figures(rounds)));
      }
    }
  }

  private MemorySegment results(Capture capture, Arena arena) {
    return arena.allocate(2L * capture.count() * shape.hidden(), 64);
  }

  private void round(Exchange exchange, Capture capture, int[] counts, MemorySegment out) {
    long epoch =
        exchange.sendDispatch(
            capture.tokens(), capture.experts(), capture.weights(), capture.count());
    ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment output = arena.allocate(2L * rows.entries() * shape.hidden(), 64);
      for (int local = 0; local < counts.length; local++) {
        counts[local] = rows.entries(local);
        long at = 2L * rows.firstEntry(local) * shape.hidden();
        long bytes = rows.gather(local, output, at);
        if (scaled) {
          scale(output.asSlice(at, bytes), 1 + rows.expertId(local) % 7 / 8f);
        }
      }
      exchange.sendCombine(epoch, output);
    }
    exchange.receiveCombine(epoch, out);
  }

  private static void scale(MemorySegment rows, float factor) {
    for (long i = 0; i < rows.byteSize() / Short.BYTES; i++) {
      float value = Bf16.toFloat(rows.getAtIndex(ValueLayout.JAVA_SHORT, i));
      rows.setAtIndex(ValueLayout.JAVA_SHORT, i, Bf16.fromFloat(value * factor));
    }
  }

  private void write(Capture capture, MemorySegment out, MemorySegment counts) throws IOException {
    int rank = group.rank();
    NpyFile.write(
        Capture.file(directory, rank, "out"),
        NpyFile.Type.UINT16,
        List.of(capture.count(), shape.hidden()),
        out);
    NpyFile.write(
        Capture.file(directory, rank, "counts"),
        NpyFile.Type.INT32,
        List.of(placement.localExperts(rank)),
        counts);
    if (!json) {
      System.out.printf(
          "rank %d: wrote %s and %s%n",
          rank, Capture.file(directory, rank, "out"), Capture.file(directory, rank, "counts"));
    }
  }

  private void progress(int round, int rounds) {
    if (group.rank() == 0) {
      System.err.printf("%sround %d of %d replayed%n", RankOutput.PROGRESS, round, rounds);
    }
  }

  private Map<String, Object> figures(int rounds) {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("transport", provider.name());
    members.put("ranks", shape.ranks());
    members.put("tokens", shape.tokens());
    members.put("hidden", shape.hidden());
    members.put("experts", shape.experts());
    members.put("topk", shape.topk());
    members.put("rounds", rounds);
    members.put("directory", directory.toString());
    return members;
  }
}
