package org.verbena.cli;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The soft-RoCE cluster of the integration tests, for people. */
@Command(
    name = "cluster",
    mixinStandardHelpOptions = true,
    description = "A cluster of RDMA hosts without RDMA hardware: node1, node2, ...",
    footer = {
      "",
      "The nodes are containers with soft-RoCE devices: on the configured Docker engine if rxe"
          + " works",
      "there, and otherwise in a guest under QEMU, which the first 'up' builds in some minutes.",
    })
final class ClusterCommand implements Runnable {
  @Spec private CommandSpec spec;

  private ClusterCommand() {}

  /** What follows the name of a node is another command's line. */
  static void configure(CommandSpec main) {
    subcommand(subcommand(main, "cluster").getCommandSpec(), "exec").setStopAtPositional(true);
  }

  private static CommandLine subcommand(CommandSpec spec, String name) {
    return Objects.requireNonNull(spec.subcommands().get(name));
  }

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "Name a command.");
  }

  @Command(
      description = "Bring the cluster up, or more nodes of it.",
      mixinStandardHelpOptions = true)
  int up(
      @Option(
              names = "--nodes",
              defaultValue = "3",
              paramLabel = "N",
              description = "How many nodes there are at least (default: ${DEFAULT-VALUE}).")
          int nodes)
      throws IOException, InterruptedException {
    if (nodes < 1) {
      throw new ParameterException(spec.commandLine(), "--nodes is " + nodes + ", give 1 or more.");
    }
    return start("up", String.valueOf(nodes));
  }

  @Command(
      description = "Print nodes, devices, GIDs, addresses and how each was chosen.",
      mixinStandardHelpOptions = true)
  int status() throws IOException, InterruptedException {
    return start("status");
  }

  @Command(description = "Run a command in a node.", mixinStandardHelpOptions = true)
  int exec(
      @Parameters(paramLabel = "NODE", description = "node1, node2, ...") String node,
      @Parameters(paramLabel = "COMMAND", arity = "1..*", description = "With its arguments.")
          List<String> command)
      throws IOException, InterruptedException {
    List<String> arguments = new ArrayList<>(List.of("exec", node));
    arguments.addAll(command);
    return start(arguments.toArray(String[]::new));
  }

  @Command(
      description = "Write the messages of nodes and kernel to target/cluster.",
      mixinStandardHelpOptions = true)
  int logs() throws IOException, InterruptedException {
    return start("logs");
  }

  @Command(description = "Remove the cluster.", mixinStandardHelpOptions = true)
  int down() throws IOException, InterruptedException {
    return start("down");
  }

  private int start(String... arguments) throws IOException, InterruptedException {
    return ClusterProcess.run(spec, List.of(arguments));
  }
}
