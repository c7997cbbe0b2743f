package org.verbena.cli;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.verbena.bootstrap.Group;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.ExpertPlacement;
import org.verbena.transport.TransportProvider;
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
      paramLabel = "S",
      description = "Seconds to wait for a rank before it is given up (default: 30; 120 on nodes).")
  private @Nullable Integer timeout;

  @Mixin private TransportOptions transport;
  @Mixin private ClusterOptions cluster;

  @Option(names = "--json", description = "Print what was done as JSON.")
  private boolean json;

  @Option(names = "--join", description = "Be one rank of the group that a launcher has started.")
  private boolean join;

  @Mixin private SecretOptions secret;

  @Spec private CommandSpec spec;

  @Override
  public Integer call() throws InterruptedException {
    if (experts < 1 || rounds < 1 || limit().toSeconds() < 1) {
      throw new ParameterException(
          spec.commandLine(),
          "--experts, --rounds and --timeout must be at least 1, but are %d, %d and %d"
              .formatted(experts, rounds, limit().toSeconds()));
    }
    int ranks;
    try {
      ranks = join ? Capture.ranks(directory) : shape().ranks();
      ExpertPlacement _ = placement(ranks);
    } catch (IOException e) {
      System.err.println("verbena: " + e.getMessage());
      return ExitCode.USAGE;
    }
    try {
      return join ? take(ranks) : start(ranks);
    } catch (IOException e) {
      System.err.println("verbena: " + e.getMessage());
      return ExitCode.FAILED;
    }
  }

  /** The shape of what was captured: every file is read and checked before anything starts. */
  private ExchangeShape shape() throws IOException {
    List<int[]> sizes = new ArrayList<>();
    for (int rank = 0; rank < Capture.ranks(directory); rank++) {
      try (Arena arena = Arena.ofConfined()) {
        sizes.add(Capture.read(directory, rank, experts, arena).sizes());
      }
    }
    return shape(sizes);
  }

  /** The shape that the captures of all ranks make up. */
  private ExchangeShape shape(List<int[]> sizes) throws IOException {
    int[] first = sizes.getFirst();
    int tokens = 1;
    for (int rank = 0; rank < sizes.size(); rank++) {
      int[] size = sizes.get(rank);
      if (size[1] != first[1] || size[2] != first[2]) {
        throw new IOException(
            "%s: rank %d has H = %d and K = %d, but rank 0 has %d and %d"
                .formatted(
                    Capture.file(directory, rank, "x"),
                    rank,
                    size[1],
                    size[2],
                    first[1],
                    first[2]));
      }
      tokens = Math.max(tokens, size[0]);
    }
    return new ExchangeShape(sizes.size(), tokens, first[1], experts, first[2]);
  }

  private ExpertPlacement placement(int ranks) throws IOException {
    if (placement == null) {
      return ExpertPlacement.contiguous(experts, ranks);
    }
    try (Arena arena = Arena.ofConfined()) {
      NpyFile file = NpyFile.read(placement, arena);
      if (file.type() != NpyFile.Type.INT32 || !file.shape().equals(List.of(experts))) {
        throw file.refuse(
            "it is %s %s, but must be <i4 [%d]".formatted(file.type(), file.shape(), experts));
      }
      int[] owners = file.data().toArray(ValueLayout.JAVA_INT);
      try {
        return ExpertPlacement.table(owners, ranks);
      } catch (IllegalArgumentException e) {
        throw file.refuse(String.valueOf(e.getMessage()));
      }
    }
  }

  private int start(int ranks) throws IOException, InterruptedException {
    List<String> arguments = new ArrayList<>(List.of("replay", "--join"));
    arguments.add("--experts=" + experts);
    arguments.add("--expert=" + expert);
    arguments.add("--rounds=" + rounds);
    arguments.add("--timeout=" + limit().toSeconds());
    if (json) {
      arguments.add("--json");
    }
    if (placement != null) {
      arguments.add("--placement=" + placement.toAbsolutePath());
    }
    String files = directory.toAbsolutePath().toString();
    arguments.add("--");
    arguments.add(files);
    arguments.add(1, "--transport=" + transport.between(cluster.hosts(ranks), ranks));
    return placement == null
        ? cluster.start(spec, ranks, arguments, files)
        : cluster.start(spec, ranks, arguments, files, placement.toAbsolutePath().toString());
  }

  private Duration limit() {
    return Duration.ofSeconds(timeout == null ? cluster.patienceSeconds() : timeout);
  }

  private int take(int ranks) {
    return RankJob.join(
        spec,
        secret,
        ranks,
        limit(),
        (membership, group) -> {
          try (Arena arena = Arena.ofConfined()) {
            replay(group, transport.provider(membership), arena);
          }
        });
  }

  /** Reads the capture of this rank alone, and learns of the others' sizes from them. */
  private void replay(Group group, TransportProvider provider, Arena arena) throws IOException {
    List<Capture> read = new ArrayList<>(1);
    List<int[]> sizes =
        group
            .allGatherResults(
                "capture",
                () -> {
                  read.add(Capture.read(directory, group.rank(), experts, arena));
                  int[] mine = read.getFirst().sizes();
                  ByteBuffer bytes = ByteBuffer.allocate(mine.length * Integer.BYTES);
                  bytes.asIntBuffer().put(mine);
                  return bytes.array();
                })
            .stream()
            .map(ReplayCommand::integers)
            .toList();
    ExchangeShape shape = shape(sizes);
    ExpertPlacement owners = placement(shape.ranks());
    boolean scaled = expert == Expert.scale;
    new ReplayRank(group, provider, directory, shape, owners, scaled, limit(), json)
        .run(read.getFirst(), rounds);
  }

  private static int[] integers(byte[] bytes) {
    int[] integers = new int[bytes.length / Integer.BYTES];
    ByteBuffer.wrap(bytes).asIntBuffer().get(integers);
    return integers;
  }
}
