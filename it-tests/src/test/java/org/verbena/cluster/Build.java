package org.verbena.cluster;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The checkout that these classes were built from, and what of it a node needs. */
final class Build {
  /** Where a node has the build. */
  static final String HOME_IN_NODE = "/opt/verbena";

  /** The libraries that tasks may use, by the beginning of their file names. */
  private static final List<String> LIBRARIES =
      List.of("assertj-core", "junit-jupiter", "junit-platform", "opentest4j", "jspecify");

  private final Path home;

  private Build(Path home) {
    this.home = home;
  }

  static Build current() {
    try {
      Path classes =
          Path.of(Build.class.getProtectionDomain().getCodeSource().getLocation().toURI());
      return new Build(classes.resolve("../..").normalize());
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  Path home() {
    return home;
  }

  Path guestScript() {
    return home.resolve("docker/softroce-host/guest");
  }

  Path logs() {
    return home.resolve("target/cluster-logs");
  }

  /**
   * Starts tar: its standard output has the command, its jars, the classes and the test classes.
   */
  Process tar() {
    List<String> command =
        new ArrayList<>(List.of("tar", "-cf", "-", "-C", home.toString(), "verbena"));
    for (String part :
        List.of("target/verbena.jar", "target/lib", "target/classes", "target/test-classes")) {
      if (Files.exists(home.resolve(part))) {
        command.add(part);
      }
    }
    try (Stream<Path> jars = Files.list(home.resolve("target/test-lib"))) {
      jars.map(jar -> home.relativize(jar).toString())
          .filter(
              jar -> LIBRARIES.stream().anyMatch(Path.of(jar).getFileName().toString()::startsWith))
          .forEach(command::add);
      return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    } catch (IOException e) {
      throw new ClusterException(
          "The build cannot be packed for the nodes: mvn test-compile first", e);
    }
  }

  /** The class path of the agent. */
  static String classPathInNode() {
    return "%1$s/target/classes:%1$s/target/test-classes:%1$s/target/test-lib/*:%1$s/target/lib/*"
        .formatted(HOME_IN_NODE);
  }
}
