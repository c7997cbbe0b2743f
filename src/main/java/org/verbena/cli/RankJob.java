package org.verbena.cli;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.verbena.acceptance.WrongValueException;
import org.verbena.bootstrap.Group;
import org.verbena.bootstrap.GroupException;
import org.verbena.bootstrap.Membership;
import org.verbena.bootstrap.TcpGroup;
import org.verbena.collective.CollectiveException;
import org.verbena.collective.SyncException;
import org.verbena.moe.ExchangeException;
import org.verbena.transport.PeerException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** A command whose work is done by the ranks of a group: starting them, and being one of them. */
final class RankJob {
  /** How long ranks may take to tell what they know of one that failed. */
  private static final Duration LAST_WORDS = Duration.ofSeconds(10);

  private RankJob() {}

  /** What a rank does once its group is formed. */
  @FunctionalInterface
  interface Part {
    void run(Membership membership, Group group) throws IOException;
  }

  /** Starts a command of this build once per rank, and waits for all. */
  static int start(int ranks, List<String> arguments) throws IOException, InterruptedException {
    RankOutput output = new RankOutput();
    RankProcesses processes = RankProcesses.start(ranks, JavaProcess.command(arguments), output);
    RankProcesses.End end = processes.await(LAST_WORDS);
    output.clear();
    return exitCode(end);
  }

  /** How a command ends whose ranks have ended like this. */
  static int exitCode(RankProcesses.End end) {
    if (end.code() != ExitCode.OK) {
      System.err.printf("verbena: rank %d ended with exit code %d%n", end.rank(), end.code());
    }
    return end.code() <= ExitCode.USAGE ? end.code() : ExitCode.FAILED;
  }

  /** Joins the group that a launcher has started, which has that many ranks; does a rank's part. */
  static int join(CommandSpec spec, SecretOptions secret, int ranks, Duration timeout, Part part) {
    Membership membership = membership(spec, secret);
    if (membership.size() != ranks) {
      throw new ParameterException(
          spec.commandLine(),
          "the command is for %d ranks, but the launcher started %d"
              .formatted(ranks, membership.size()));
    }
    return join(membership, timeout, part);
  }

  /** Joins the group that a launcher has started, however large; does a rank's part. */
  static int join(CommandSpec spec, SecretOptions secret, Duration timeout, Part part) {
    return join(membership(spec, secret), timeout, part);
  }

  private static Membership membership(CommandSpec spec, SecretOptions secret) {
    try {
      return Membership.fromEnvironment(secret.over(System.getenv()));
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage(), e);
    }
  }

  /** Joins a group, and does a rank's part. */
  static int join(Membership membership, Duration timeout, Part part) {
    try (Group group = TcpGroup.join(membership, timeout)) {
      part.run(membership, group);
      return ExitCode.OK;
    } catch (WrongValueException
        | GroupException
        | PeerException
        | ExchangeException
        | CollectiveException
        | SyncException
        | IllegalArgumentException
        | IOException e) {
      System.err.println("verbena: " + e.getMessage());
      return ExitCode.FAILED;
    }
  }
}
