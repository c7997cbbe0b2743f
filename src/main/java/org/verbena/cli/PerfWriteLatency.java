package org.verbena.cli;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
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

/** {@code verbena perf write-lat}: as {@code ib_write_lat}, half the time to and fro. */
@Command(
    name = "write-lat",
    mixinStandardHelpOptions = true,
    description = {
      "Measures the latency of RDMA writes, as ib_write_lat does: half the time of a write to"
          + " the peer and one back.",
      "Give both ends the same -s and -n."
    })
final class PerfWriteLatency implements Callable<Integer> {
  private static final int PAGE_BYTES = 4096;
  private static final int INLINE_BYTES = 220;
  private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();

  @Mixin private PerfOptions options;
  @Mixin private RdmaOptions rdma;
  @Spec private CommandSpec spec;

  @Option(
      names = {"-s", "--size"},
      paramLabel = "BYTES",
      description = "Bytes of a write; ${DEFAULT-VALUE} unless given.")
  private int size = 2;

  @Override
  public Integer call() throws IOException {
    if (size < 1 || options.iterations() < 2 || options.warmup() < 0) {
      throw new ParameterException(spec.commandLine(), "-s must be 1 or more, -n 2 or more.");
    }
    try {
      PathChoice choice = rdma.open();
      QueuePairOptions pair =
          QueuePairOptions.DEFAULTS
              .withDepths(16, 1)
              .withInline(options.inline(INLINE_BYTES))
              .withTraffic(rdma.traffic());
      int[] measure = {2, size, options.iterations(), options.warmup()};
      long half = Math.ceilDiv((long) size, PAGE_BYTES) * PAGE_BYTES;
      try (PerfConnection connection =
          PerfConnection.open(choice, options, 2 * half, pair, measure)) {
        int writes = options.warmup() + options.iterations();
        long[] posted = run(connection, half, writes);
        if (!connection.peer().isServer()) {
          report(Arrays.copyOfRange(posted, options.warmup(), writes));
        }
        connection.peer().await();
      }
      return ExitCode.OK;
    } catch (VerbsException | IOException e) {
      System.err.println("verbena: " + e.getMessage());
      return ExitCode.FAILED;
    }
  }

  /**
   * Writes to and fro; the last byte counts. It may stand for the whole write only since nothing
   * but the time is looked at.
   *
   * @return when each write was posted
   */
  private long[] run(PerfConnection connection, long half, int writes) throws IOException {
    long[] posted = new long[writes];
    MemorySegment memory = connection.buffer().memory();
    long in = size - 1L;
    long out = half + size - 1L;
    SendRequests write =
        connection
            .pair()
            .sendRequests(1, 1)
            .write(connection.remote(), 0)
            .from(connection.buffer(), half, size)
            .signaled();
    if (size <= options.inline(INLINE_BYTES) && size <= connection.pair().inlineBytes()) {
      write.inline();
    }
    Completions found = new Completions(1);
    boolean server = connection.peer().isServer();
    for (int i = 0; i < writes; i++) {
      if (server || i > 0) {
        await(memory, in, (byte) (server ? i + 1 : i));
      }
      memory.set(ValueLayout.JAVA_BYTE, out, (byte) (i + 1));
      posted[i] = System.nanoTime();
      connection.pair().post(write);
      awaitCompletion(connection, found);
    }
    if (!server) {
      await(memory, in, (byte) writes);
    }
    return posted;
  }

  private static void await(MemorySegment memory, long offset, byte value) throws IOException {
    Patience patience = new Patience();
    for (long polls = 1; (byte) BYTE.getAcquire(memory, offset) != value; polls++) {
      patience.check(polls, "write");
    }
  }

  private static void awaitCompletion(PerfConnection connection, Completions found)
      throws IOException {
    Patience patience = new Patience();
    for (long polls = 1; connection.poll(found) == 0; polls++) {
      patience.check(polls, "completion");
    }
  }

  private void report(long[] posted) {
    double[] micros = new double[posted.length - 1];
    for (int i = 0; i < micros.length; i++) {
      micros[i] = (posted[i + 1] - posted[i]) / 2000.0;
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
    if (options.json()) {
      Map<String, Object> all = new LinkedHashMap<>();
      all.put("bytes", size);
      all.put("iterations", options.iterations());
      all.putAll(result);
      System.out.println(Json.of(all));
      return;
    }
    StringBuilder head = new StringBuilder(" #bytes #iterations");
    StringBuilder row =
        new StringBuilder(String.format(Locale.ROOT, " %-6d %-11d", size, options.iterations()));
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
