package org.verbena.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code verbena group} beyond loopback, where ranks need a secret. */
@Timeout(180)
class GroupCommandTest {
  @TempDir Path dir;

  private final List<Process> started = new ArrayList<>();

  @AfterEach
  void killWhatIsLeft() {
    started.forEach(Process::destroyForcibly);
  }

  /** Starts both ranks of a group that is not known to be on one host. */
  private void start(String... options) throws IOException {
    for (int rank = 0; rank < 2; rank++) {
      List<String> arguments = new ArrayList<>(List.of("group", "--rank=" + rank, "--size=2"));
      arguments.add("--rendezvous=file:" + dir.resolve("rendezvous"));
      arguments.add("--timeout=60");
      arguments.addAll(List.of(options));
      ProcessBuilder builder = new ProcessBuilder(JavaProcess.command(arguments));
      builder.environment().remove("VERBENA_SECRET");
      builder.environment().remove("VERBENA_SECRET_FILE");
      builder.redirectOutput(dir.resolve("out" + rank).toFile());
      builder.redirectError(dir.resolve("err" + rank).toFile());
      started.add(builder.start());
    }
  }

  private int exitCode(int rank) throws InterruptedException {
    Process process = started.get(rank);
    assertThat(process.waitFor(120, TimeUnit.SECONDS)).isTrue();
    return process.exitValue();
  }

  @Test
  void withoutASecretARankSaysWhatToDo() throws Exception {
    start();
    assertThat(exitCode(0)).isEqualTo(ExitCode.FAILED);
    assertThat(Files.readString(dir.resolve("err0")))
        .contains("is not loopback, and this rank has no secret", "export VERBENA_SECRET_FILE=FILE")
        .doesNotContain("Exception");
  }

  @Test
  void whatIsInsecureIsAllowedAndWarnedOf() throws Exception {
    start("--insecure");
    for (int rank = 0; rank < 2; rank++) {
      assertThat(exitCode(rank)).isEqualTo(ExitCode.OK);
      assertThat(Files.readString(dir.resolve("err" + rank)))
          .contains("rank " + rank + " of 2 takes part without a secret (insecure)");
    }
  }

  @Test
  void aFileOfASecretIsNamedAsAnOption() throws Exception {
    Path file = Files.writeString(dir.resolve("secret"), "0123456789abcdef".repeat(4));
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
    start("--secret-file=" + file);
    for (int rank = 0; rank < 2; rank++) {
      assertThat(exitCode(rank)).isEqualTo(ExitCode.OK);
      assertThat(Files.readString(dir.resolve("err" + rank))).doesNotContain("without a secret");
      assertThat(Files.readString(dir.resolve("out" + rank)))
          .contains("rank " + rank + " of 2 met");
    }
  }
}
