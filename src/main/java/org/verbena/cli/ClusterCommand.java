package org.verbena.cli;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * The soft-RoCE cluster of the integration tests, for people. What brings it up is part of the
 * tests, so this command works in a checkout and starts that code in a process of its own.
 */
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
    return start(spec, arguments);
  }

  /** Starts what has the cluster, and waits for its end. */
  static int start(CommandSpec spec, String... arguments) throws IOException, InterruptedException {
    Path home = home(spec);
    Path target = home.resolve("target");
    if (isOlderThanSources(home)) {
      System.err.println("verbena: building what brings the cluster up (once) ...");
      List<String> maven = List.of("mvn", "-B", "-q", "-DskipTests", "test-compile");
      if (new ProcessBuilder(maven).directory(home.toFile()).inheritIO().start().waitFor() != 0) {
        System.err.println("verbena: the build failed; see above.");
        return ExitCode.FAILED;
      }
    }
    String separator = System.getProperty("path.separator");
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                // The Docker client logs through SLF4J, and there is nobody to log to.
                "-Dslf4j.internal.verbosity=ERROR",
                "-cp",
                target.resolve("classes")
                    + separator
                    + target.resolve("test-classes")
                    + separator
                    + target.resolve("test-lib/*"),
                "org.verbena.cluster.ClusterMain"));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).inheritIO().start().waitFor();
  }

  /** The checkout: this class is in target/verbena.jar or target/classes there. */
  private static Path home(CommandSpec spec) {
    try {
      Path classes =
          Path.of(ClusterCommand.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      Path home = classes.resolve("../..").normalize();
      if (!Files.isDirectory(home.resolve("it-tests"))) {
        throw new ParameterException(
            spec.commandLine(), "The cluster needs a checkout of Verbena; " + home + " is none.");
      }
      return home;
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  private static boolean isOlderThanSources(Path home) throws IOException {
    Path built = home.resolve("target/test-classes/org/verbena/cluster/ClusterMain.class");
    if (!Files.exists(built) || !Files.isDirectory(home.resolve("target/test-lib"))) {
      return true;
    }
    var since = Files.getLastModifiedTime(built);
    try (Stream<Path> sources =
        Files.walk(home.resolve("it-tests/src/test/java/org/verbena/cluster"))) {
      for (Path source : sources.toList()) {
        if (Files.getLastModifiedTime(source).compareTo(since) > 0) {
          return true;
        }
      }
    }
    return false;
  }
}
