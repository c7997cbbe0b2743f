package org.verbena.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;
import org.verbena.cluster.Node;

/** The main job between nodes, as {@code verbena demo --cluster} runs it. */
@Tag("long")
@ClusterTest(nodes = 3)
class DemoIT {
  private static final Duration LIMIT = Duration.ofMinutes(3);

  private final Cluster cluster;
  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
  private final List<String> seen = new ArrayList<>();

  DemoIT(Cluster cluster) {
    this.cluster = cluster;
  }

  private NodeRanks start(int ranks, String options) {
    List<String> command = new ArrayList<>(List.of("demo", "--join", "--ranks=" + ranks));
    command.addAll(Arrays.asList(options.split(" ", -1)));
    return NodeRanks.start(
        cluster.nodes().subList(0, 3),
        ranks,
        command,
        (rank, error, line) ->
            lines.add("[" + rank + "] " + new String(line, StandardCharsets.UTF_8)));
  }

  @Test
  void fourRanksOnThreeNodesVerifyEveryValue() throws Exception {
    try (NodeRanks ranks =
        start(
            4,
            "--transport=mixed --tokens=16 --hidden=1024 --experts=24 --topk=8 --rounds=3"
                + " --timeout=120")) {
      RankProcesses.End end = ranks.await(LIMIT);
      lines.drainTo(seen);
      assertThat(end.code()).as("exit code of %s", seen).isEqualTo(ExitCode.OK);
    }
    assertThat(seen)
        .anyMatch(line -> line.startsWith("[0] 4 ranks over mixed: 16 tokens of 1024 values"))
        .anyMatch(line -> line.startsWith("[0] verified: ") && line.endsWith("none wrong"))
        .anyMatch(line -> line.startsWith("[0] posted to the network per rank and round: "))
        .contains("[0] 0 -> 1  shared memory");
    Node first = cluster.node(1);
    Node last = cluster.node(3);
    assertThat(seen)
        .anyMatch(
            line ->
                line.startsWith("[0] 0 -> 3  " + first.device().name())
                    && line.contains(first.device().address())
                    && line.contains(last.device().address()));
  }

  @Test
  void whenARankIsKilledTheOthersNameIt() throws Exception {
    try (NodeRanks ranks =
        start(
            3,
            "--transport=rdma --tokens=4 --hidden=64 --experts=6 --topk=2 --rounds=100000"
                + " --timeout=120")) {
      awaitLine("round 2 of");
      ranks.signal(1, "KILL");
      assertThat(ranks.await(LIMIT)).isEqualTo(new RankProcesses.End(1, Node.KILLED));
    }
    lines.drainTo(seen);
    assertThat(seen)
        .anyMatch(line -> line.startsWith("[0] verbena: rank 0: ") && line.contains("rank 1"))
        .anyMatch(line -> line.startsWith("[2] verbena: rank 2: ") && line.contains("rank 1"))
        .noneMatch(line -> line.contains("Exception"));
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
}
