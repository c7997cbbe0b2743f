package org.verbena.cli;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.ExpertPlacement;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code verbena replay}: what was captured from an engine, through the exchange once more. */
@Command(
    name = "replay",
    mixinStandardHelpOptions = true,
    description = {
      "Exchanges what was captured from an engine, between as many processes as ranks were captured.",
      "",
      "Reads, for each rank r, NumPy files in DIR:",
      "  rank<r>.x.npy        [n][H]  tokens: <u2 (bf16), <f2 or <f4",
      "  rank<r>.topk.npy     [n][K]  expert ids: <i4 or <i8, -1 for none",
      "  rank<r>.weights.npy  [n][K]  weights: <f4",
      "Writes:",
      "  rank<r>.out.npy      [n][H]  results: <u2 (bf16)",
      "  rank<r>.counts.npy   [local experts]  entries of each local expert: <i4",
      ""
    })
final class ReplayCommand implements Callable<Integer> {
  /** What an expert does to a row. */
  enum Expert {
    identity,
    scale
  }

  @Parameters(paramLabel = "DIR", description = "The folder of the captured files.")
  private Path directory;

  @Option(
      names = "--experts",
      required = true,
      paramLabel = "E",
      description = "Experts of all ranks.")
  private int experts;

  @Option(
      names = "--expert",
      defaultValue = "identity",
      description =
          "What expert e does: ${COMPLETION-CANDIDATES}; scale multiplies by 1 + (e mod 7)/8 and"
              + " rounds to bf16 (default: ${DEFAULT-VALUE}).")
  private Expert expert;

  @Option(
      names = "--placement",
      paramLabel = "FILE",
      description = "A NumPy file <i4 [E]: the rank of each expert (default: contiguous blocks).")
  private @Nullable Path placement;

  @Option(
      names = "--rounds",
      defaultValue = "1",
      paramLabel = "N",
      description = "Rounds, all of which must give the same (default: ${DEFAULT-VALUE}).")
  private int rounds;

  @Option(
      names = "--timeout",
      defaultValue = "30",
      paramLabel = "S",
      description = "Seconds to wait for a rank before it is given up (default: ${DEFAULT-VALUE}).")
  private int timeout;

  @Option(names = "--join", description = "Be one rank of the group that a launcher has started.")
  private boolean join;

  @Mixin private SecretOptions secret;

  @Spec private CommandSpec spec;

  @Override
  public Integer call() throws InterruptedException {
    if (experts < 1 || rounds < 1 || timeout < 1) {
      throw new ParameterException(
          spec.commandLine(),
          "--experts, --rounds and --timeout must be at least 1, but are %d, %d and %d"
              .formatted(experts, rounds, timeout));
    }
    ExchangeShape shape;
    ExpertPlacement owners;
    try {
      shape = shape();
      owners = placement(shape);
    } catch (IOException e) {
      System.err.println("verbena: " + e.getMessage());
      return ExitCode.USAGE;
    }
    try {
      return join ? take(shape, owners) : start(shape);
    } catch (IOException e) {
      System.err.println("verbena: " + e.getMessage());
      return ExitCode.FAILED;
    }
  }

  /** The shape of what was captured: every file is read and checked before anything starts. */
  private ExchangeShape shape() throws IOException {
    int ranks = Capture.ranks(directory);
    int tokens = 1;
    int hidden = 0;
    int topk = 0;
    for (int rank = 0; rank < ranks; rank++) {
      try (Arena arena = Arena.ofConfined()) {
        Capture capture = Capture.read(directory, rank, experts, arena);
        if (rank > 0 && (capture.hidden() != hidden || capture.topk() != topk)) {
          throw new IOException(
              "%s: rank %d has H = %d and K = %d, but rank 0 has %d and %d"
                  .formatted(
                      Capture.file(directory, rank, "x"),
                      rank,
                      capture.hidden(),
                      capture.topk(),
                      hidden,
                      topk));
        }
        hidden = capture.hidden();
        topk = capture.topk();
        tokens = Math.max(tokens, capture.count());
      }
    }
    return new ExchangeShape(ranks, tokens, hidden, experts, topk);
  }

  private ExpertPlacement placement(ExchangeShape shape) throws IOException {
    if (placement == null) {
      return ExpertPlacement.contiguous(experts, shape.ranks());
    }
    try (Arena arena = Arena.ofConfined()) {
      NpyFile file = NpyFile.read(placement, arena);
      if (file.type() != NpyFile.Type.INT32 || !file.shape().equals(List.of(experts))) {
        throw file.refuse(
            "it is %s %s, but must be <i4 [%d]".formatted(file.type(), file.shape(), experts));
      }
      int[] owners = file.data().toArray(ValueLayout.JAVA_INT);
      try {
        return ExpertPlacement.table(owners, shape.ranks());
      } catch (IllegalArgumentException e) {
        throw file.refuse(String.valueOf(e.getMessage()));
      }
    }
  }

  private int start(ExchangeShape shape) throws IOException, InterruptedException {
    List<String> arguments = new ArrayList<>(List.of("replay", "--join"));
    arguments.add("--experts=" + experts);
    arguments.add("--expert=" + expert);
    arguments.add("--rounds=" + rounds);
    arguments.add("--timeout=" + timeout);
    if (placement != null) {
      arguments.add("--placement=" + placement);
    }
    arguments.add("--");
    arguments.add(directory.toString());
    return RankJob.start(shape.ranks(), arguments);
  }

  private int take(ExchangeShape shape, ExpertPlacement owners) {
    Duration limit = Duration.ofSeconds(timeout);
    boolean scaled = expert == Expert.scale;
    return RankJob.join(
        spec,
        secret,
        shape.ranks(),
        limit,
        group -> new ReplayRank(group, directory, shape, owners, scaled, limit).run(rounds));
  }
}
