package org.verbena.cluster;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/** The checkout that these classes were built from, and what of it a node needs. */
final class Build {
  /** Where a node has the build. */
  static final String HOME_IN_NODE = "/opt/verbena";

  /** The libraries that tasks may use, by the beginning of their file names. */
  private static final List<String> LIBRARIES =
      List.of("assertj-core", "junit-jupiter", "junit-platform", "opentest4j", "jspecify");

  private final Path home;
  private List<String> classes = List.of();

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
   * Starts tar: its standard output has, below {@link #HOME_IN_NODE}, the command with its jars,
   * the test classes and what they use. Classes go as jars, as a node takes long for each single
   * file.
   */
  Process tar() {
    List<String> command =
        new ArrayList<>(
            List.of(
                "tar",
                "--create",
                "--transform=s,^," + HOME_IN_NODE.substring(1) + "/,",
                "--transform=s,/nodes/,/,",
                "--directory=" + home,
                "verbena",
                "target/lib"));
    command.addAll(classes());
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

  /** The classes in jars, which are packed once. */
  private synchronized List<String> classes() {
    if (classes.isEmpty()) {
      classes = List.of(jar("classes", "verbena.jar"), jar("test-classes", "test-classes.jar"));
    }
    return classes;
  }

  /** Packs a folder of target; returns where. */
  private String jar(String folder, String name) {
    Path target = home.resolve("target");
    try {
      Path nodes = Files.createDirectories(target.resolve("nodes"));
      Path part = Files.createTempFile(nodes, name, null);
      int exitCode =
          ToolProvider.findFirst("jar")
              .orElseThrow(() -> new ClusterException("The JDK has no jar tool"))
              .run(
                  System.err,
                  System.err,
                  "--create",
                  "--file=" + part,
                  "-C",
                  target.resolve(folder).toString(),
                  ".");
      if (exitCode != 0) {
        throw new ClusterException("jar ended with " + exitCode + " for " + folder);
      }
      Files.move(part, nodes.resolve(name), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new ClusterException("The classes cannot be packed for the nodes", e);
    }
    return "target/nodes/" + name;
  }

  /** The class path of the agent. */
  static String classPathInNode() {
    return "%1$s/target/*:%1$s/target/test-lib/*:%1$s/target/lib/*".formatted(HOME_IN_NODE);
  }
}
