package org.verbena.cli;

import java.io.IOException;
import java.util.concurrent.Callable;
import org.verbena.verbs.Access;
import org.verbena.verbs.Completions;
import org.verbena.verbs.PathChoice;
import org.verbena.verbs.QueuePairOptions;
import org.verbena.verbs.VerbsException;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A measure of {@code verbena perf}: meets the other end, measures, and waits for it. */
abstract class PerfMeasure implements Callable<Integer> {
  @Mixin private PerfOptions options;
  @Mixin private RdmaOptions rdma;
  @Spec private CommandSpec spec;

  @Option(
      names = {"-s", "--size"},
      paramLabel = "BYTES",
      description = "Bytes of a request; ${DEFAULT-VALUE} unless given.")
  private int size;

  private final int number;
  private final int leastIterations;

  /**
   * @param number what tells this measure from the others: both ends must measure the same
   * @param size bytes of a request unless given
   */
  PerfMeasure(int number, int size, int leastIterations) {
    this.number = number;
    this.size = size;
    this.leastIterations = leastIterations;
  }

  /** What the queue pair is made with, but for the traffic. */
  abstract QueuePairOptions pairOptions();

  /** Bytes of the buffer that each end has. */
  abstract long bufferBytes();

  /** What the peer may do to the buffer. */
  Access[] access() {
    return new Access[] {Access.REMOTE_WRITE, Access.REMOTE_READ};
  }

  /** Measures, and prints the result at the client. */
  abstract void run(PerfConnection connection) throws IOException;

  /** Refuses what cannot be measured. */
  void validate() {
    require(size >= 1, "-s must be 1 or more.");
  }

  final void require(boolean condition, String otherwise) {
    if (!condition) {
      throw new ParameterException(spec.commandLine(), otherwise);
    }
  }

  final PerfOptions options() {
    return options;
  }

  final int size() {
    return size;
  }

  /** Whether a request of this size goes inline, of {@code unlessGiven} bytes asked for. */
  final boolean isInline(PerfConnection connection, int unlessGiven) {
    return size <= options.inline(unlessGiven) && size <= connection.pair().inlineBytes();
  }

  @Override
  public final Integer call() throws IOException {
    validate();
    require(
        options.iterations() >= leastIterations && options.warmup() >= 0,
        "-n must be %d or more, --warmup 0 or more.".formatted(leastIterations));
    try {
      PathChoice choice = rdma.open();
      QueuePairOptions pair = pairOptions().withTraffic(rdma.traffic());
      int[] measure = {number, size, options.iterations(), options.warmup()};
      try (PerfConnection connection =
          PerfConnection.open(choice, options, bufferBytes(), pair, measure, access())) {
        run(connection);
        connection.peer().await();
      }
      return ExitCode.OK;
    } catch (VerbsException | IOException e) {
      System.err.println("verbena: " + e.getMessage());
      return ExitCode.FAILED;
    }
  }

  /** Polls until something completes. */
  static void awaitCompletion(PerfConnection connection, Completions found) throws IOException {
    Patience patience = new Patience();
    for (long polls = 1; connection.poll(found) == 0; polls++) {
      patience.check(polls, "completion");
    }
  }
}
