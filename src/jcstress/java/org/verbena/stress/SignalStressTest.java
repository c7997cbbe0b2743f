package org.verbena.stress;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Runs {@link SignalStress} under jcstress, in processes of its own, for a short time; for a long
 * one with {@code -Dverbena.stress="-m default"}, or any other options of jcstress.
 */
class SignalStressTest {
  private static final String SHORT = "-m quick -f 1 -iters 1 -time 500 -sc false -jvmArgs -Xmx256m";
  private static final Path FOLDER = Path.of("target", "jcstress");
  private static final Path OUTPUT = FOLDER.resolve("output.txt");
  private static final long LIMIT_MINUTES = 60;

  /** What jcstress says at last: it does not count a process that could not start as a failure. */
  private static final Pattern RESULTS =
      Pattern.compile(
          "Results: (\\d+) planned; (\\d+) passed, (\\d+) failed, (\\d+) soft errs, (\\d+) hard");

  @Test
  void noForbiddenResult() throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.addAll(List.of("-cp", classPath(), "org.openjdk.jcstress.Main"));
    command.addAll(List.of("-t", SignalStress.class.getSimpleName(), "-v", "-r", "."));
    command.addAll(List.of(System.getProperty("verbena.stress", SHORT).split(" ")));
    Files.createDirectories(FOLDER);
    Process process =
        new ProcessBuilder(command)
            .directory(FOLDER.toFile())
            .redirectErrorStream(true)
            .redirectOutput(OUTPUT.toFile())
            .start();
    try {
      assertThat(process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES)).as(OUTPUT.toString()).isTrue();
    } finally {
      process.destroy();
    }

    assertThat(process.exitValue()).as(OUTPUT.toString()).isZero();
    List<MatchResult> results = RESULTS.matcher(Files.readString(OUTPUT)).results().toList();
    assertThat(results).as(OUTPUT.toString()).isNotEmpty();
    MatchResult last = results.getLast();
    assertThat(last.group(1)).as("planned").isNotEqualTo("0");
    assertThat(last.group(2)).as("passed, see " + OUTPUT).isEqualTo(last.group(1));
  }

  /** Without modules, as jcstress does not know them. */
  private static String classPath() {
    return String.join(
        File.pathSeparator,
        Path.of("target", "test-classes").toAbsolutePath().toString(),
        Path.of("target", "classes").toAbsolutePath().toString(),
        System.getProperty("java.class.path"),
        System.getProperty("jdk.module.path", ""));
  }
}
