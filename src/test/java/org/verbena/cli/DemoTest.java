package org.verbena.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The demo between real processes, and what becomes of it when one is killed or stopped. */
class DemoTest {
  private static final Duration LIMIT = Duration.ofMinutes(3);

  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
  private final List<String> seen = new ArrayList<>();

  private RankProcesses start(int ranks, String options) throws IOException {
    List<String> arguments = new ArrayList<>(List.of("demo", "--join", "--ranks=" + ranks));
    arguments.addAll(Arrays.asList(options.split(" ", -1)));
    return RankProcesses.start(
        ranks,
        JavaProcess.command(arguments),
        (rank, error, line) ->
            lines.add("[" + rank + "] " + new String(line, StandardCharsets.UTF_8)));
  }

  /** Waits for a line that holds a text. */
  private void awaitLine(String text) throws InterruptedException {
    long deadline = System.nanoTime() + LIMIT.toNanos();
    while (true) {
      String line = lines.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
      assertThat(line).as("a line with '%s' after %s", text, seen).isNotNull();
      seen.add(line);
      if (line.contains(text)) {
        return;
      }
    }
  }

  private List<String> allLines() {
    lines.drainTo(seen);
    return seen;
  }

  /** One of this test's ranks: its environment says which it is. */
  private static ProcessHandle rank(int rank) {
    return ProcessHandle.current()
        .children()
        .filter(child -> environment(child).contains("VERBENA_RANK=" + rank + "\0"))
        .findFirst()
        .orElseThrow(() -> new AssertionError("rank " + rank + " does not run"));
  }

  private static String environment(ProcessHandle process) {
    try {
      return Files.readString(
          Path.of("/proc", "" + process.pid(), "environ"), StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      return ""; // It has ended.
    }
  }

  private static void signal(String name, ProcessHandle process)
      throws IOException, InterruptedException {
    Process kill = new ProcessBuilder("kill", "-" + name, "" + process.pid()).start();
    assertThat(kill.waitFor()).isZero();
  }

  private static List<Path> windowFiles(List<Long> processes) throws IOException {
    try (Stream<Path> files = Files.list(Path.of("/dev/shm"))) {
      return files
          .filter(
              file ->
                  processes.stream()
                      .anyMatch(pid -> file.toString().contains("verbena-" + pid + "-")))
          .toList();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "1, --tokens=16 --hidden=256 --experts=10",
    "3, --tokens=9 --hidden=1000 --experts=288",
    "5, --tokens=12 --hidden=8 --experts=3",
  })
  void everyValueIsVerified(int ranks, String options) throws Exception {
    try (RankProcesses processes = start(ranks, options + " --rounds=3")) {
      assertThat(processes.await().code()).as("exit code of %s", allLines()).isZero();
    }
    assertThat(allLines()).anyMatch(line -> line.startsWith("[0] verified: "));
  }

  @Test
  void figuresAreJsonOnRequest() throws Exception {
    try (RankProcesses processes =
        start(2, "--tokens=4 --hidden=64 --experts=6 --rounds=3 --json")) {
      assertThat(processes.await().code()).isZero();
    }
    assertThat(String.join("\n", allLines()))
        .contains("\"ranks\" : 2", "\"dispatch_send\" : {", "\"verifiedValues\" : ");
  }

  @Test
  void whenARankIsKilledTheOthersNameItAndNothingIsLeft() throws Exception {
    List<Long> pids = new ArrayList<>();
    try (RankProcesses processes =
        start(3, "--tokens=8 --hidden=256 --experts=9 --rounds=100000 --timeout=60")) {
      awaitLine("round 3 of");
      for (int rank = 0; rank < 3; rank++) {
        pids.add(rank(rank).pid());
      }
      signal("KILL", rank(1));
      RankProcesses.End end = processes.await(Duration.ofSeconds(60));
      assertThat(end).isEqualTo(new RankProcesses.End(1, 128 + 9));
    }
    assertThat(allLines())
        .anyMatch(line -> line.startsWith("[0] verbena: rank 0: ") && line.contains("rank 1"))
        .anyMatch(line -> line.startsWith("[2] verbena: rank 2: ") && line.contains("rank 1"))
        .noneMatch(line -> line.contains("Exception"));
    assertThat(windowFiles(pids)).isEmpty();
  }

  @Test
  void aRankThatIsStoppedIsGivenUpAtTheDeadline() throws Exception {
    try (RankProcesses processes =
        start(2, "--tokens=8 --hidden=256 --experts=9 --rounds=100000 --timeout=10")) {
      awaitLine("round 3 of");
      ProcessHandle stopped = rank(1);
      signal("STOP", stopped);
      awaitLine("nothing came within 10.");
      signal("CONT", stopped);
      assertThat(processes.await(Duration.ofSeconds(60)).code()).isEqualTo(ExitCode.FAILED);
    }
    // Once it goes on, the stopped rank learns that it was given up.
    assertThat(allLines())
        .anyMatch(
            line ->
                line.startsWith("[1] verbena: rank 1: ")
                    && line.contains("gave up because of rank 1"));
  }

  @Test
  void aShortStopIsNoFailure() throws Exception {
    try (RankProcesses processes =
        start(2, "--tokens=8 --hidden=256 --experts=9 --rounds=2000 --timeout=60")) {
      awaitLine("round 3 of");
      ProcessHandle stopped = rank(1);
      signal("STOP", stopped);
      TimeUnit.SECONDS.sleep(1); // This is the length of the stop, and no wait for anything.
      signal("CONT", stopped);
      assertThat(processes.await().code()).as("exit code of %s", allLines()).isZero();
    }
  }
}
