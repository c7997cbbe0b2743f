package org.verbena.cli;

import java.io.Console;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.verbena.acceptance.WrongValueException;
import org.verbena.bootstrap.Group;
import org.verbena.bootstrap.GroupException;
import org.verbena.bootstrap.Membership;
import org.verbena.bootstrap.TcpGroup;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.ExchangeException;
import org.verbena.transport.PeerException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code verbena demo}: the main job between processes of this machine, every value verified. */
@Command(
    name = "demo",
    mixinStandardHelpOptions = true,
    description = {
      "Exchanges tokens between processes of this machine, and verifies every value.",
      "Exits with 1 at the first wrong value, saying which rank, token and column."
    })
final class DemoCommand implements Callable<Integer> {
  /** How long ranks may take to tell what they know of one that failed. */
  private static final Duration LAST_WORDS = Duration.ofSeconds(10);

  @Mixin private ExchangeOptions exchange;

  @Option(
      names = "--rounds",
      defaultValue = "20",
      paramLabel = "N",
      description = "Rounds to time, after as many to warm up (default: ${DEFAULT-VALUE}).")
  private int rounds;

  @Option(
      names = "--timeout",
      defaultValue = "30",
      paramLabel = "S",
      description = "Seconds to wait for a rank before it is given up (default: ${DEFAULT-VALUE}).")
  private int timeout;

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

  @Spec private CommandSpec spec;

  @Override
  public Integer call() throws IOException, InterruptedException {
    ExchangeShape shape;
    try {
      shape = exchange.shape();
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage(), e);
    }
    if (rounds < 1 || timeout < 1) {
      throw new ParameterException(
          spec.commandLine(),
          "--rounds and --timeout must be at least 1, but are %d and %d"
              .formatted(rounds, timeout));
    }
    return join ? take(shape) : start(shape);
  }

  private int start(ExchangeShape shape) throws IOException, InterruptedException {
    List<String> arguments = new ArrayList<>(List.of("demo", "--join"));
    arguments.addAll(ExchangeOptions.of(shape));
    arguments.add("--rounds=" + rounds);
    arguments.add("--timeout=" + timeout);
    arguments.add("--seed=" + seed);
    if (json) {
      arguments.add("--json");
    }
    RankOutput output = new RankOutput(isTerminal());
    RankProcesses processes =
        RankProcesses.start(shape.ranks(), JavaProcess.command(arguments), output);
    Runtime.getRuntime().addShutdownHook(new Thread(processes::close, "end of the ranks"));
    RankProcesses.End end = processes.await(LAST_WORDS);
    output.clear();
    if (end.code() != 0) {
      System.err.printf("verbena: rank %d ended with exit code %d%n", end.rank(), end.code());
    }
    return end.code() == 0 ? ExitCode.OK : ExitCode.FAILED;
  }

  @SuppressWarnings("SystemConsoleNull") // It may be: jdk.console decides.
  private static boolean isTerminal() {
    Console console = System.console();
    return console != null && console.isTerminal();
  }

  private int take(ExchangeShape shape) {
    Membership membership;
    try {
      membership = Membership.fromEnvironment(System.getenv());
      if (membership.size() != shape.ranks()) {
        throw new IllegalArgumentException(
            "--ranks is %d, but the launcher started %d"
                .formatted(shape.ranks(), membership.size()));
      }
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage(), e);
    }
    Duration limit = Duration.ofSeconds(timeout);
    try (Group group = TcpGroup.join(membership, limit)) {
      DemoReport report = new DemoRank(group, shape, rounds, limit, seed).run();
      if (group.rank() == 0) {
        System.out.print(json ? report.json() + "\n" : report.text());
      }
      return ExitCode.OK;
    } catch (WrongValueException | GroupException | PeerException | ExchangeException e) {
      System.err.println("verbena: " + e.getMessage());
      return ExitCode.FAILED;
    }
  }

  /** Rank 0's report goes out as it is; what others say carries their rank. */
  private static final class RankOutput implements RankProcesses.Output {
    private final boolean terminal;
    private boolean progressShown;

    RankOutput(boolean terminal) {
      this.terminal = terminal;
    }

    @Override
    public synchronized void line(int rank, boolean error, byte[] line) {
      String text = new String(line, StandardCharsets.UTF_8);
      if (text.startsWith(DemoRank.PROGRESS)) {
        if (terminal) {
          System.err.print("\r" + text.substring(DemoRank.PROGRESS.length()));
          progressShown = true;
        }
      } else if (!text.equals(JavaProcess.INCUBATOR_WARNING)) {
        clear();
        if (error) {
          System.err.println("[" + rank + "] " + text);
        } else {
          System.out.println(text);
        }
      }
    }

    synchronized void clear() {
      if (progressShown) {
        System.err.print("\r\033[K");
        progressShown = false;
      }
    }
  }
}
