package org.verbena.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code verbena run}, started as a process of its own. */
@Timeout(180)
class RunCommandTest {
  private static final long LIMIT_SECONDS = 60;
  private static final long POLL_NANOS = 20_000_000;

  /** Each rank and a child of it write their process ids, then wait for long. */
  private static final String TWO_THAT_WAIT =
      "echo $$ >$DIR/$RANK.rank; sleep 1000 & echo $! >$DIR/$RANK.child; wait";

  @TempDir Path dir;

  private final List<Process> started = new ArrayList<>();

  @AfterEach
  void killWhatIsLeft() {
    started.forEach(Process::destroyForcibly);
  }

  @Test
  void ranksFindTheirVariablesAndTheirLinesAreMarked() throws Exception {
    Process run =
        run(
            "4",
            "sh",
            "-c",
            "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR; echo oops >&2;"
                + " printf unended; test \"$MASTER_PORT\" -gt 0");
    assertThat(exitCode(run)).isEqualTo(0);
    assertThat(lines("out"))
        .containsExactlyInAnyOrder(
            "[0] 0 4 0 4 127.0.0.1",
            "[1] 1 4 1 4 127.0.0.1",
            "[2] 2 4 2 4 127.0.0.1",
            "[3] 3 4 3 4 127.0.0.1",
            "[0] unended",
            "[1] unended",
            "[2] unended",
            "[3] unended");
    assertThat(lines("err"))
        .containsExactlyInAnyOrder("[0] oops", "[1] oops", "[2] oops", "[3] oops");
  }

  @Test
  void allRanksGetOneSecretInTheirEnvironmentOnly() throws Exception {
    Process run =
        run(
            "2",
            "sh",
            "-c",
            "echo $VERBENA_SECRET >$DIR/$RANK.secret; cat /proc/*/cmdline >$DIR/$RANK.lines; true");
    assertThat(exitCode(run)).isEqualTo(0);
    String secret = Files.readString(dir.resolve("0.secret"));
    assertThat(secret).hasSizeGreaterThan(32).isEqualTo(Files.readString(dir.resolve("1.secret")));
    assertThat(Files.readString(dir.resolve("0.lines"), StandardCharsets.ISO_8859_1))
        .contains(".lines") // this very command's
        .doesNotContain(secret.strip());
  }

  @Test
  void ranksFormAGroup() throws Exception {
    List<String> group = JavaProcess.command(List.of("group"));
    assertThat(exitCode(run("3", group.toArray(String[]::new)))).isEqualTo(0);
    assertThat(lines("out")).hasSize(3);
    for (int rank = 0; rank < 3; rank++) {
      String start = "[" + rank + "] rank " + rank + " of 3 met at file:";
      assertThat(lines("out")).anyMatch(line -> line.startsWith(start));
    }
  }

  @Test
  void oneThatFailsEndsAllAndItsCodeIsPassedOn() throws Exception {
    Process run =
        run(
            "3",
            "sh",
            "-c",
            "if [ $RANK = 1 ]; then until [ -e $DIR/0.child ] && [ -e $DIR/2.child ]; do sleep 0.1;"
                + " done; exit 7; fi; "
                + TWO_THAT_WAIT);
    assertThat(exitCode(run)).isEqualTo(7);
    assertThat(lines("err")).contains("verbena: rank 1 ended with exit code 7");
    assertAllEnd(4);
  }

  @Test
  void theSignalThatEndedARankIsPassedOn() throws Exception {
    assertThat(exitCode(run("2", "sh", "-c", "kill -KILL $$"))).isEqualTo(128 + 9);
  }

  @Test
  void whatCannotBeStartedIsNamed() throws Exception {
    assertThat(exitCode(run("1", "no-such-command"))).isEqualTo(127);
    assertThat(String.join("\n", lines("err"))).contains("no-such-command");
  }

  @Test
  void nothingOutlivesARunThatIsKilled() throws Exception {
    Process run = run("3", "sh", "-c", TWO_THAT_WAIT);
    await("all ranks run", () -> processIds().size() == 6);
    run.destroyForcibly();
    assertAllEnd(6);
  }

  @Test
  void ranksMayEndInOrderWhenTheRunIsAskedToEnd() throws Exception {
    Process run = run("2", "sh", "-c", "trap 'echo bye; exit 0' TERM; " + TWO_THAT_WAIT);
    await("all ranks run", () -> processIds().size() == 4);
    run.destroy();
    assertThat(exitCode(run)).isEqualTo(128 + 15);
    assertThat(lines("out")).containsExactlyInAnyOrder("[0] bye", "[1] bye");
    assertAllEnd(4);
  }

  @Test
  void aWrongCommandLineIsRefused() throws Exception {
    assertThat(exitCode(run("0", "true"))).isEqualTo(ExitCode.USAGE);
    assertThat(lines("err").getFirst()).contains("--ranks is 0");
    assertThat(exitCode(run("2"))).isEqualTo(ExitCode.USAGE);
  }

  private Process run(String ranks, String... command) throws IOException {
    List<String> arguments = new ArrayList<>(List.of("run", "--ranks", ranks, "--"));
    arguments.addAll(List.of(command));
    ProcessBuilder builder = new ProcessBuilder(JavaProcess.command(arguments));
    builder.environment().put("DIR", dir.toString());
    builder.redirectOutput(dir.resolve("out").toFile());
    builder.redirectError(dir.resolve("err").toFile());
    Process process = builder.start();
    started.add(process);
    return process;
  }

  private static int exitCode(Process process) throws InterruptedException {
    assertThat(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)).isTrue();
    return process.exitValue();
  }

  private List<String> lines(String stream) throws IOException {
    return Files.readAllLines(dir.resolve(stream)).stream()
        .filter(line -> !line.contains(JavaProcess.INCUBATOR_WARNING))
        .toList();
  }

  private void assertAllEnd(int count) {
    assertThat(processIds()).hasSize(count);
    for (String id : processIds()) {
      await("process " + id + " ends", () -> !isAlive(id));
    }
  }

  /** Ended processes that nobody has waited for count as ended. */
  private static boolean isAlive(String id) {
    try {
      return !Files.readString(Path.of("/proc", id, "stat")).contains(") Z ");
    } catch (IOException _) {
      return false;
    }
  }

  private List<String> processIds() {
    try (Stream<Path> files = Files.list(dir)) {
      List<String> ids = new ArrayList<>();
      for (Path file : files.toList()) {
        if (file.toString().endsWith(".rank") || file.toString().endsWith(".child")) {
          String id = Files.readString(file).strip();
          if (!id.isEmpty()) {
            ids.add(id);
          }
        }
      }
      return ids;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as(what).isLessThan(deadline);
      LockSupport.parkNanos(POLL_NANOS);
    }
  }
}
