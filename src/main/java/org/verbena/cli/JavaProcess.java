package org.verbena.cli;

import java.io.File;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine;
import tools.jackson.core.JacksonException;
import tools.jackson.jr.ob.JSON;

/** How this very build is started in another process. */
final class JavaProcess {
  /** What Java prints about the vector module, at every start. */
  static final String INCUBATOR_WARNING = "WARNING: Using incubator modules: jdk.incubator.vector";

  private JavaProcess() {}

  /** The command line of a {@code verbena} command, with all that makes it fast. */
  static List<String> command(List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--module-path");
    command.add(
        String.join(
            File.pathSeparator,
            location(Main.class),
            location(CommandLine.class),
            location(JSON.class),
            location(JacksonException.class)));
    command.add("--add-modules=jdk.incubator.vector,info.picocli,tools.jackson.jr.ob");
    command.add("--enable-native-access=org.verbena");
    command.add("-XX:+UseSerialGC");
    String options = System.getenv("VERBENA_JAVA_OPTIONS");
    if (options != null && !options.isBlank()) {
      command.addAll(List.of(options.trim().split("\\s+", -1)));
    }
    command.add("--module=org.verbena/org.verbena.cli.Main");
    command.addAll(arguments);
    return command;
  }

  private static String location(Class<?> type) {
    try {
      return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    } catch (URISyntaxException e) {
      throw new IllegalStateException("no path to " + type, e);
    }
  }
}
