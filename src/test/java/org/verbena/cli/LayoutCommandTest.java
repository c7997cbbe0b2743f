package org.verbena.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.LIST;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;
import tools.jackson.jr.ob.JSON;

class LayoutCommandTest {
  private static final String[] SHAPE = {
    "--tokens=128", "--hidden=7168", "--ranks=8", "--experts=288", "--topk=8"
  };

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  @TempDir private Path folder;

  @Test
  void printsTheTableOfTheRdmaLayout() {
    assertThat(run(SHAPE)).isEqualTo(ExitCode.OK);
    assertThat(out.toString())
        .contains("RDMA, two halves", "117,522,432 bytes", "2,146,961,792 bytes", "combine send");
    assertThat(err.toString()).isEmpty();
  }

  @Test
  void printsJson() {
    assertThat(run(with("--json"))).isEqualTo(ExitCode.OK);
    var json = JSON.std.mapFrom(out.toString());
    assertThat(json)
        .containsEntry("sizeHintBytes", 117_522_432)
        .containsEntry("deepEpHintBytes", 2_146_961_792)
        .containsEntry("savedBytes", 0);
    assertThat((Integer) json.get("requiredBytes")).isBetween(117_522_432, 121_048_104);
    assertThat(json.get("regions"))
        .asInstanceOf(LIST)
        .hasSize(18)
        .first()
        .isEqualTo(Map.of("name", "dispatch receive", "half", 0, "offset", 0, "bytes", 14_696_448));
  }

  @Test
  void takesTheOtherOptions() {
    assertThat(run(with("--transport=shm", "--halves=1"))).isEqualTo(ExitCode.OK);
    assertThat(out.toString()).contains("shared memory, one half").doesNotContain("send");
    assertThat(run(with("--compact"))).isEqualTo(ExitCode.OK);
    assertThat(out.toString()).contains("RDMA, compact, two halves", "saved (compact)");
  }

  @Test
  void writesThePicture() throws IOException {
    var file = folder.resolve("half.svg");
    assertThat(run(with("--svg=" + file))).isEqualTo(ExitCode.OK);
    assertThat(Files.readString(file)).startsWith("<svg ").endsWith("</svg>\n");
    assertThat(run(with("--svg=" + folder.resolve("none/half.svg")))).isEqualTo(ExitCode.FAILED);
    assertThat(err.toString()).contains("cannot write the picture").doesNotContain("\tat ");
  }

  @ParameterizedTest
  @CsvSource({
    "--hidden=12, 'hidden must be a multiple of 8, but is 12'",
    "--topk=300, 'topk must be at most the number of experts, but is 300 of 288'",
    "--ranks=0, 'ranks must be at least 1, but is 0'",
    "--halves=3, 'halves must be 1 or 2, but is 3'",
    "--transport=tcp, must be rdma or shm",
    "--tokens=many, --tokens",
    "--unknown, --unknown",
  })
  void refusesWrongOptions(String option, String message) {
    assertThat(run(option)).isEqualTo(ExitCode.USAGE);
    assertThat(err.toString()).contains(message).doesNotContain("\tat ");
    assertThat(out.toString()).isEmpty();
  }

  @Test
  void printsHelp() {
    assertThat(run("--help")).isEqualTo(ExitCode.OK);
    assertThat(out.toString()).contains("--compact", "--svg=FILE", "RDMA_BUFFER_SCALE");
  }

  private int run(String... arguments) {
    return new CommandLine(new LayoutCommand())
        .setOut(new PrintWriter(out))
        .setErr(new PrintWriter(err))
        .execute(arguments);
  }

  private static String[] with(String... options) {
    var all = Arrays.copyOf(SHAPE, SHAPE.length + options.length);
    System.arraycopy(options, 0, all, SHAPE.length, options.length);
    return all;
  }
}
