package org.verbena.cli;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The {@code verbena} command: prints its help, or runs one of the commands below it. */
@Command(
    name = "verbena",
    mixinStandardHelpOptions = true,
    versionProvider = Version.class,
    description = "Native RDMA for Java, and the expert-parallel exchange on it.",
    subcommands = {
      ClusterCommand.class,
      DemoCommand.class,
      DevicesCommand.class,
      GroupCommand.class,
      LayoutCommand.class,
      PerfCommand.class,
      PingpongCommand.class,
      ReplayCommand.class,
      RunCommand.class,
      SyncCommand.class
    },
    exitCodeOnInvalidInput = ExitCode.USAGE,
    exitCodeOnExecutionException = ExitCode.FAILED)
final class Main implements Runnable {
  @Spec private CommandSpec spec;

  private Main() {}

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "Name a command.");
  }

  public static void main(String[] args) {
    CommandLine commandLine = new CommandLine(new Main());
    ClusterCommand.configure(commandLine.getCommandSpec());
    System.exit(commandLine.execute(args));
  }
}
