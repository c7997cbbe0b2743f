package org.verbena.cli;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/**
 * What brings up the cluster and works with it. It is part of the tests, so it is there in a
 * checkout only, and runs in a process of its own.
 */
final class ClusterProcess {
  private ClusterProcess() {}

  /**
   * Runs a command of the cluster, with this process's input and outputs; returns its exit code.
   */
  static int run(CommandSpec spec, List<String> arguments)
      throws IOException, InterruptedException {
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
    command.addAll(arguments);
    return new ProcessBuilder(command).inheritIO().start().waitFor();
  }

  /** The checkout: this class is in target/verbena.jar or target/classes there. */
  private static Path home(CommandSpec spec) {
    try {
      Path classes =
          Path.of(ClusterProcess.class.getProtectionDomain().getCodeSource().getLocation().toURI());
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
    try (Stream<Path> sources = Files.walk(home.resolve("it-tests/src/test/java/org/verbena"))) {
      for (Path source : sources.toList()) {
        if (Files.getLastModifiedTime(source).compareTo(since) > 0) {
          return true;
        }
      }
    }
    return false;
  }
}
