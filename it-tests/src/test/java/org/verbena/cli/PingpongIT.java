package org.verbena.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;
import org.verbena.cluster.ExecResult;
import org.verbena.cluster.Node;
import org.verbena.cluster.RdmaDevice;
import picocli.CommandLine;

/** The commands on real devices, and against the programs of others. */
@ClusterTest(nodes = 2)
class PingpongIT {
  private static final Duration PAIR = Duration.ofMinutes(2);

  private final Cluster cluster;

  PingpongIT(Cluster cluster) {
    this.cluster = cluster;
  }

  @ParameterizedTest
  @CsvSource({
    "ibv_rc_pingpong, pingpong, -n 200",
    "pingpong, ibv_rc_pingpong, -n 200",
    "ibv_rc_pingpong, pingpong, -n 100 -s 16 -e -r 10",
    "pingpong, ibv_rc_pingpong, -n 100 -s 70000 -e -l 3",
    "pingpong, pingpong, -n 100 -m 256 -p 18777"
  })
  void messagesGoToAndFro(String server, String client, String options) {
    for (String output : pair(server + " " + options, client + " " + options)) {
      assertThat(output)
          .containsPattern(
              "local address: +LID 0x0000, QPN 0x[0-9a-f]{6}, PSN 0x[0-9a-f]{6}[,:] GID ::")
          .containsPattern("remote address: LID 0x0000, QPN 0x")
          .containsPattern("\\d+ bytes in \\d+\\.\\d\\d seconds = \\d+\\.\\d\\d Mbit/sec")
          .containsPattern("[12]00 iters in \\d+\\.\\d\\d seconds = \\d+\\.\\d\\d usec/iter");
    }
  }

  @Tag("long") // ibv_ud_pingpong waits for ever when a datagram is lost
  @ParameterizedTest
  @CsvSource({
    "ibv_ud_pingpong, pingpong ud, -n 100 -s 1024",
    "pingpong ud, ibv_ud_pingpong, -n 100 -s 1024",
    "ibv_ud_pingpong, pingpong ud, -n 100 -s 64 -e -r 10",
    "pingpong ud, ibv_ud_pingpong, -n 100 -s 64 -e -r 10",
    "pingpong ud, pingpong ud, -n 100 -p 18778"
  })
  void datagramsGoToAndFro(String server, String client, String options) {
    messagesGoToAndFro(server, client, options);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "write-bw -s 14336",
        "write-lat -s 8",
        "read-bw -s 14336",
        "read-lat -s 8",
        "send-bw -s 14336 -r 40",
        "send-lat -s 8",
        "write-imm-lat -s 8",
        "atomic-lat -A CMP_AND_SWAP"
      })
  void perfMeasures(String measure) {
    String command = "perf " + measure + " -n 200 --warmup 50";
    List<String> outputs = pair(command, command);
    assertThat(outputs.getFirst()).as("the server prints nothing").isEmpty();
    assertThat(outputs.getLast())
        .contains("#bytes", measure.contains("bw") ? "BW average[MiB/sec]" : "t_typical[usec]")
        .containsPattern("\\n (14336|8) +200 +\\d+\\.\\d\\d");
  }

  @Test
  void devicesShowsWhatWouldBeUsedAndWhy() {
    Node node = cluster.node(1);
    RdmaDevice device = node.device();

    assertThat(start(node, "devices -v").join())
        .contains("hca_id: " + device.name(), "max_qp_wr")
        .contains("would use: " + device.name() + " port 1")
        .contains("because: active port, RoCE v2, IPv4 address of this namespace")
        .contains(cluster.node(2).device().name() + " port 1 GID")
        .contains("not an address of this network namespace");
    assertThat(start(node, "devices --json").join())
        .contains("\"chosen\"", "\"gid\" : \"::ffff:" + device.address() + "\"", "\"rejected\"");
  }

  /** What the server on the first node and the client on the second print. */
  private List<String> pair(String server, String client) {
    CompletableFuture<String> serving = start(cluster.node(1), server);
    CompletableFuture<String> connecting = start(cluster.node(2), client + " node1");
    CompletableFuture.allOf(serving, connecting)
        .orTimeout(PAIR.toSeconds(), TimeUnit.SECONDS)
        .join();
    return List.of(serving.join(), connecting.join());
  }

  /** Runs a command, again until a client is let in; ours in the node's Java process. */
  private static CompletableFuture<String> start(Node node, String command) {
    List<String> words = List.of(command.split(" ", -1));
    if (!command.startsWith("ibv")) {
      return node.submit(() -> verbena(words));
    }
    RdmaDevice device = node.device();
    List<String> all = new ArrayList<>(words);
    all.addAll(1, List.of("-d", device.name(), "-g", String.valueOf(device.gidIndex())));
    return CompletableFuture.supplyAsync(
        () -> {
          long deadline = System.nanoTime() + PAIR.toNanos();
          while (true) {
            ExecResult result = node.exec(PAIR, all.toArray(String[]::new));
            if (result.exitCode() == 0 || System.nanoTime() > deadline) {
              return result.orThrow().stdout();
            }
          }
        });
  }

  /** Runs in a node. */
  private static String verbena(List<String> words) {
    PrintStream out = System.out;
    PrintStream err = System.err;
    long deadline = System.nanoTime() + PAIR.toNanos();
    while (true) {
      ByteArrayOutputStream output = new ByteArrayOutputStream();
      PrintStream capture = new PrintStream(output, true, StandardCharsets.UTF_8);
      System.setOut(capture);
      System.setErr(capture);
      int code;
      try {
        Object command =
            switch (words.getFirst()) {
              case "devices" -> new DevicesCommand();
              case "perf" -> new PerfCommand();
              default -> new PingpongCommand();
            };
        code =
            new CommandLine(command).execute(words.subList(1, words.size()).toArray(String[]::new));
      } finally {
        System.setOut(out);
        System.setErr(err);
      }
      String text = output.toString(StandardCharsets.UTF_8);
      if (code == 0) {
        return text;
      }
      if (!text.contains("no connection to") || System.nanoTime() > deadline) {
        throw new AssertionError(words + " ended with " + code + ": " + text);
      }
    }
  }
}
