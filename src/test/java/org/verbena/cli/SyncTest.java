package org.verbena.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** Files between real processes, and what becomes of them when one is killed. */
class SyncTest {
  private static final Duration LIMIT = Duration.ofMinutes(2);

  @TempDir Path folder;

  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
  private final List<String> seen = new ArrayList<>();

  private RankProcesses start(int ranks, String options, Path... files) throws IOException {
    List<String> arguments = new ArrayList<>(List.of("sync", "--join", "--ranks=" + ranks));
    arguments.addAll(Arrays.asList(options.split(" ", -1)));
    arguments.add("--to=" + folder.resolve("to"));
    Arrays.stream(files).forEach(file -> arguments.add(file.toString()));
    return RankProcesses.start(
        ranks,
        JavaProcess.command(arguments),
        (rank, error, line) ->
            lines.add("[" + rank + "] " + new String(line, StandardCharsets.UTF_8)));
  }

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

  private Path file(String name, int bytes) throws IOException {
    byte[] content = new byte[bytes];
    new Random(bytes).nextBytes(content);
    return Files.write(folder.resolve(name), content);
  }

  /** So large that it is still under way when a test has seen that it has begun. */
  private Path hugeFile() throws IOException {
    Path file = folder.resolve("huge");
    try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
      open.setLength(1L << 30);
    }
    return file;
  }

  private List<String> received(int rank) throws IOException {
    Path of = folder.resolve("to").resolve("rank" + rank);
    try (Stream<Path> files = Files.list(of)) {
      return files.map(file -> file.getFileName().toString()).toList();
    }
  }

  private static long pid(int rank) {
    return ProcessHandle.current()
        .children()
        .filter(child -> environment(child).contains("VERBENA_RANK=" + rank + "\0"))
        .findFirst()
        .orElseThrow(() -> new AssertionError("rank " + rank + " does not run"))
        .pid();
  }

  private static String environment(ProcessHandle process) {
    try {
      return Files.readString(
          Path.of("/proc", "" + process.pid(), "environ"), StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      return ""; // It has ended.
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"--chain", "--tree --chunk=64"})
  void allRanksGetTheFiles(String options) throws Exception {
    Path large = file("large", 3_000_001);
    Path empty = file("empty", 0);
    try (RankProcesses processes = start(4, options, large, empty)) {
      assertThat(processes.await().code()).as("exit code of %s", allLines()).isZero();
    }
    for (int rank = 1; rank < 4; rank++) {
      assertThat(received(rank)).containsExactlyInAnyOrder("large", "empty");
      assertThat(folder.resolve("to/rank" + rank + "/large")).hasSameBinaryContentAs(large);
    }
    assertThat(allLines())
        .anyMatch(line -> line.startsWith("[0] 2 files, 3,000,001 bytes to 3 ranks over shm"))
        .contains("[0] 0 -> 1  shared memory")
        .anyMatch(line -> line.contains("on all ranks, 0 chunks sent again"))
        .anyMatch(line -> line.contains("progress: 3,000,001 of 3,000,001 bytes, 100 %"));
  }

  @Test
  void whenARankIsKilledTheOthersNameItAndNoneKeepsAnything() throws Exception {
    try (RankProcesses processes = start(3, "--chunk=4 --timeout=60", hugeFile())) {
      awaitLine("progress: ");
      assertThat(new ProcessBuilder("kill", "-KILL", "" + pid(2)).start().waitFor()).isZero();
      RankProcesses.End end = processes.await(Duration.ofSeconds(60));
      assertThat(end).isEqualTo(new RankProcesses.End(2, 128 + 9));
    }
    assertThat(allLines())
        .anyMatch(line -> line.startsWith("[0] verbena: rank 0: ") && line.contains("rank 2"))
        .anyMatch(line -> line.startsWith("[1] verbena: rank 1: ") && line.contains("rank 2"))
        .noneMatch(line -> line.contains("Exception"));
    assertThat(received(1)).isEmpty();
    assertThat(received(2)).doesNotContain("huge");
  }

  @Test
  void aFileThatIsCutUnderWayIsReportedByAllAndKeptByNone() throws Exception {
    Path file = hugeFile();
    try (RankProcesses processes = start(3, "--chunk=4", file)) {
      awaitLine("progress: ");
      try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
        open.setLength(1000);
      }
      assertThat(processes.await(Duration.ofSeconds(60)).code()).isEqualTo(ExitCode.FAILED);
    }
    for (int rank = 0; rank < 3; rank++) {
      String start = "[" + rank + "] verbena: rank " + rank + ": parameter sync";
      assertThat(allLines())
          .anyMatch(line -> line.startsWith(start) && line.contains("was cut while it was sent"));
    }
    assertThat(received(1)).isEmpty();
    assertThat(received(2)).isEmpty();
  }

  @Test
  void whatCannotWorkIsRefusedBeforeAnythingStarts() throws Exception {
    Path file = file("file", 10);
    Path other = Files.createDirectory(folder.resolve("other")).resolve("file");
    Files.copy(file, other);
    Path sparse = folder.resolve("sparse");
    try (RandomAccessFile open = new RandomAccessFile(sparse.toFile(), "rw")) {
      open.setLength(1L << 42);
    }
    for (String arguments :
        List.of(
            "",
            "--ranks=0 " + file,
            "--chunk=0 " + file,
            "--chain --tree " + file,
            folder.resolve("none").toString(),
            folder.toString(),
            file + " " + other,
            sparse.toString(),
            "--to=" + folder + " " + sparse,
            "--to=" + folder.resolve("none") + " " + file,
            "--to=" + file + " " + file)) {
      int code = new CommandLine(new SyncCommand()).execute(arguments.split(" ", -1));
      assertThat(code).as(arguments).isEqualTo(ExitCode.USAGE);
    }
  }
}
