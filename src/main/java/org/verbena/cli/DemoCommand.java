package org.verbena.cli;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.verbena.layout.ExchangeShape;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code verbena demo}: the main job between processes, every value verified. */
@Command(
    name = "demo",
    mixinStandardHelpOptions = true,
    description = {
      "Exchanges tokens between processes of this machine, or of the nodes of a cluster, and",
      "verifies every value.",
      "Exits with 1 at the first wrong value, saying which rank, token and column."
    })
final class DemoCommand implements Callable<Integer> {
  private static final int MOST_ROUNDS = 100_000;

  @Mixin private ExchangeOptions exchange;
  @Mixin private TransportOptions transport;
  @Mixin private ClusterOptions cluster;

  @Option(
      names = "--rounds",
      defaultValue = "20",
      paramLabel = "N",
      description = "Rounds to time, after as many to warm up (default: ${DEFAULT-VALUE}).")
  private int rounds;

  @Option(
      names = "--timeout",
      paramLabel = "S",
      description = "Seconds to wait for a rank before it is given up (default: 30; 120 on nodes).")
  private @Nullable Integer timeout;

  @Option(
      names = "--seed",
      defaultValue = "1",
      paramLabel = "N",
      description = "Seed of routing and noise (default: ${DEFAULT-VALUE}).")
  private long seed;

  @Option(names = "--json", description = "Print the figures as JSON.")
  private boolean json;

  @Option(
      names = "--join",
      description =
          "Be one rank of the group that a launcher has started, instead of starting one.")
  private boolean join;

  @Mixin private SecretOptions secret;

  @Spec private CommandSpec spec;

  @Override
  public Integer call() throws IOException, InterruptedException {
    ExchangeShape shape;
    try {
      shape = exchange.shape();
      DemoRank.checkConfig(shape, limit());
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage(), e);
    }
    if (rounds < 1 || rounds > MOST_ROUNDS) {
      throw new ParameterException(
          spec.commandLine(), "--rounds must be 1 to %d, but is %d".formatted(MOST_ROUNDS, rounds));
    }
    return join ? take(shape) : start(shape);
  }

  private int start(ExchangeShape shape) throws IOException, InterruptedException {
    List<String> arguments = new ArrayList<>(List.of("demo", "--join"));
    arguments.addAll(ExchangeOptions.of(shape));
    arguments.add("--rounds=" + rounds);
    arguments.add("--timeout=" + limit().toSeconds());
    arguments.add("--seed=" + seed);
    if (json) {
      arguments.add("--json");
    }
    int ranks = shape.ranks();
    arguments.add("--transport=" + transport.between(cluster.hosts(ranks), ranks));
    return cluster.start(spec, ranks, arguments);
  }

  private Duration limit() {
    return Duration.ofSeconds(timeout == null ? cluster.patienceSeconds() : timeout);
  }

  private int take(ExchangeShape shape) {
    Duration limit = limit();
    return RankJob.join(
        spec,
        secret,
        shape.ranks(),
        limit,
        (membership, group) -> {
          DemoRank rank =
              new DemoRank(group, transport.provider(membership), shape, rounds, limit, seed);
          DemoReport report = rank.run();
          if (group.rank() == 0) {
            System.out.print(json ? report.json() + "\n" : report.text());
          }
        });
  }
}
