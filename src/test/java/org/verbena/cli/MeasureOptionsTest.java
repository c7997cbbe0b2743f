package org.verbena.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** What the commands that need a device refuse before they look for one. */
class MeasureOptionsTest {
  @ParameterizedTest
  @CsvSource({
    "perf, Name a measure",
    "perf write-bw -s 0, -s must be 1 or more",
    "perf write-bw -t 0, -t and -Q must be 1 or more",
    "perf read-bw -n 0, -n must be 1 or more",
    "perf read-bw -I 8, Reads cannot be inline",
    "perf send-bw -r 0, -r must be 1 or more",
    "perf write-lat -n 1, -n must be 2 or more",
    "perf send-lat --warmup -1, --warmup 0 or more",
    "perf write-imm-lat -s -1, -s must be 1 or more",
    "perf read-lat -I 8, cannot be inline",
    "perf atomic-lat -s 4, An atomic has 8 bytes",
    "perf atomic-lat -A ADD, Invalid value",
    "pingpong -s 0, '-s, -n and -r must be 1 or more'",
    "pingpong -m 1000, -m:",
    "pingpong ud -r 0, '-s, -n and -r must be 1 or more'"
  })
  void nonsenseIsRefused(String line, String message) {
    CommandLine commands =
        new CommandLine(new DevicesCommand())
            .addSubcommand(new PerfCommand())
            .addSubcommand(new PingpongCommand());
    StringWriter errors = new StringWriter();
    commands.setErr(new PrintWriter(errors, true));
    assertThat(commands.execute(line.split(" ", -1))).isEqualTo(2);
    assertThat(errors.toString()).contains(message);
  }
}
