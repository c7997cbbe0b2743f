package org.verbena.cli;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.verbena.verbs.Completions;
import org.verbena.verbs.PathChoice;
import org.verbena.verbs.QueuePairOptions;
import org.verbena.verbs.SendRequests;
import org.verbena.verbs.VerbsException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code verbena perf write-bw}: as {@code ib_write_bw}, with a receiver that sleeps. */
@Command(
    name = "write-bw",
    mixinStandardHelpOptions = true,
    description = {
      "Measures the bandwidth of RDMA writes, as ib_write_bw does.",
      "The server sleeps meanwhile. Give both ends the same -s and -n."
    })
final class PerfWriteBandwidth implements Callable<Integer> {
  private static final double MEBIBYTE = 1 << 20;

  /** Where perftest stops looking for a peak, and prints 0. */
  private static final int MOST_FOR_PEAK = 20_000;

  @Mixin private PerfOptions options;
  @Mixin private RdmaOptions rdma;
  @Spec private CommandSpec spec;

  @Option(
      names = {"-s", "--size"},
      paramLabel = "BYTES",
      description = "Bytes of a write; ${DEFAULT-VALUE} unless given.")
  private int size = 65536;

  @Option(
      names = {"-t", "--tx-depth"},
      paramLabel = "N",
      description = "Writes that may be outstanding; ${DEFAULT-VALUE} unless given.")
  private int depth = 128;

  @Option(
      names = {"-Q", "--cq-mod"},
      paramLabel = "N",
      description = "Complete every N-th write; ${DEFAULT-VALUE} unless given.")
  private int every = 100;

  @Override
  public Integer call() throws IOException {
    if (size < 1 || depth < 1 || every < 1 || options.iterations() < 1 || options.warmup() < 0) {
      throw new ParameterException(spec.commandLine(), "-s, -t, -Q and -n must be 1 or more.");
    }
    try {
      PathChoice choice = rdma.open();
      QueuePairOptions pair =
          QueuePairOptions.DEFAULTS
              .withDepths(depth, 1)
              .withInline(options.inline(0))
              .withTraffic(rdma.traffic());
      int[] measure = {1, size, options.iterations(), options.warmup()};
      try (PerfConnection connection = PerfConnection.open(choice, options, size, pair, measure)) {
        if (!connection.peer().isServer()) {
          run(connection, new Times(options.warmup()));
          Times times = new Times(options.iterations());
          run(connection, times);
          report(times);
        }
        connection.peer().await();
      }
      return ExitCode.OK;
    } catch (VerbsException | IOException e) {
      System.err.println("verbena: " + e.getMessage());
      return ExitCode.FAILED;
    }
  }

  /** When each write was posted and, for those that are told, when it was seen to have ended. */
  private static final class Times {
    final long[] posted;
    final long[] ended;

    Times(int writes) {
      posted = new long[writes];
      ended = new long[writes];
    }

    int writes() {
      return posted.length;
    }

    double total() {
      return writes() == 0 ? 0 : ended[writes() - 1] - posted[0];
    }

    /**
     * The shortest time for a write, over all runs of writes from any to one whose end was told, as
     * perftest finds its peak.
     */
    double shortest() {
      double shortest = total();
      for (int last = 0; last < writes(); last++) {
        for (int first = 0; ended[last] != 0 && first <= last; first++) {
          double mean = (double) (ended[last] - posted[first]) / (last - first + 1);
          shortest = Math.min(shortest, mean);
        }
      }
      return shortest;
    }
  }

  /** Posts as many writes as there are times, to the completion of the last. */
  private void run(PerfConnection connection, Times times) {
    int writes = times.writes();
    int step = Math.min(every, depth);
    SendRequests silent = request(connection);
    SendRequests told = request(connection).signaled();
    Completions found = new Completions(16);
    int posted = 0;
    int ended = 0;
    while (ended < writes) {
      while (posted < writes && connection.pair().freeSends() > 0) {
        times.posted[posted++] = System.nanoTime();
        boolean tell = posted % step == 0 || posted == writes;
        connection.pair().post(tell ? told : silent);
      }
      for (int left = connection.poll(found); left > 0; left--) {
        ended = Math.min(ended + step, writes);
        times.ended[ended - 1] = System.nanoTime();
      }
    }
  }

  private SendRequests request(PerfConnection connection) {
    SendRequests request =
        connection
            .pair()
            .sendRequests(1, 1)
            .write(connection.remote(), 0)
            .from(connection.buffer(), 0, size);
    return size <= options.inline(0) && size <= connection.pair().inlineBytes()
        ? request.inline()
        : request;
  }

  private void report(Times times) {
    double average = mebibytesPerSecond(times.total() / options.iterations());
    double peak = options.iterations() > MOST_FOR_PEAK ? 0 : mebibytesPerSecond(times.shortest());
    double rate = options.iterations() / (times.total() / 1e3);
    if (options.json()) {
      Map<String, Object> result = new LinkedHashMap<>();
      result.put("bytes", size);
      result.put("iterations", options.iterations());
      result.put("BW_peak_MiB_per_sec", peak);
      result.put("BW_average_MiB_per_sec", average);
      result.put("MsgRate_Mpps", rate);
      System.out.println(Json.of(result));
    } else {
      System.out.println(
          " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]");
      System.out.printf(
          Locale.ROOT,
          " %-7d    %-10d       %-7.2f            %-7.2f\t\t     %-7.6f%n",
          size,
          options.iterations(),
          peak,
          average,
          rate);
    }
  }

  private double mebibytesPerSecond(double nanosPerWrite) {
    return size / MEBIBYTE / (nanosPerWrite / 1e9);
  }
}
