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
          run(connection, options.warmup());
          report(run(connection, options.iterations()));
        }
        connection.peer().await();
      }
      return ExitCode.OK;
    } catch (VerbsException | IOException e) {
      System.err.println("verbena: " + e.getMessage());
      return ExitCode.FAILED;
    }
  }

  /** Nanoseconds that so many writes take, to the completion of the last. */
  private long run(PerfConnection connection, int writes) {
    int step = Math.min(every, depth);
    SendRequests silent = request(connection);
    SendRequests told = request(connection).signaled();
    Completions found = new Completions(16);
    long start = System.nanoTime();
    int posted = 0;
    int completed = 0;
    int expected = 0;
    while (posted < writes || completed < expected) {
      while (posted < writes && connection.pair().freeSends() > 0) {
        posted++;
        boolean tell = posted % step == 0 || posted == writes;
        connection.pair().post(tell ? told : silent);
        expected += tell ? 1 : 0;
      }
      completed += connection.poll(found);
    }
    return System.nanoTime() - start;
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

  private void report(long nanos) {
    double average = (double) size * options.iterations() / MEBIBYTE / (nanos / 1e9);
    double rate = options.iterations() / (nanos / 1e3);
    if (options.json()) {
      Map<String, Object> result = new LinkedHashMap<>();
      result.put("bytes", size);
      result.put("iterations", options.iterations());
      result.put("BW_average_MiB_per_sec", average);
      result.put("MsgRate_Mpps", rate);
      System.out.println(Json.of(result));
    } else {
      System.out.println(" #bytes     #iterations    BW average[MiB/sec]   MsgRate[Mpps]");
      System.out.printf(
          Locale.ROOT, " %-10d %-14d %-21.2f %.6f%n", size, options.iterations(), average, rate);
    }
  }
}
