package org.verbena.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;
import org.verbena.cluster.Node;

/** Files from node to node, as {@code verbena sync --cluster} sends them. */
@Tag("long")
@ClusterTest(nodes = 3)
class SyncIT {
  private static final Duration LIMIT = Duration.ofMinutes(2);

  private final Cluster cluster;

  @TempDir Path folder;

  SyncIT(Cluster cluster) {
    this.cluster = cluster;
  }

  @ParameterizedTest
  @ValueSource(strings = {"chain", "tree"})
  void allNodesGetTheFile(String way) throws Exception {
    byte[] content = new byte[700_001];
    new Random(5).nextBytes(content);
    Path file = Files.write(folder.resolve("file"), content);
    cluster.node(1).put(file);
    String to = "/tmp/" + folder.getFileName();
    List<String> command =
        List.of(
            "sync",
            "--join",
            "--transport=rdma",
            "--" + way,
            "--chunk=64",
            "--timeout=120",
            "--to=" + to,
            file.toString());
    Queue<String> lines = new ConcurrentLinkedQueue<>();
    try (NodeRanks ranks =
        NodeRanks.start(
            cluster.nodes().subList(0, 3),
            3,
            command,
            (rank, error, line) ->
                lines.add("[" + rank + "] " + new String(line, StandardCharsets.UTF_8)))) {
      RankProcesses.End end = ranks.await(LIMIT);
      assertThat(end.code()).as("exit code of %s", lines).isEqualTo(ExitCode.OK);
    }
    String device = cluster.node(1).device().name();
    assertThat(lines)
        .anyMatch(line -> line.startsWith("[0] 1 file, 700,001 bytes to 2 ranks over rdma in a "))
        .anyMatch(line -> line.contains("in a " + way + ": "))
        .anyMatch(line -> line.startsWith("[0] 0 -> 1  " + device))
        .anyMatch(line -> line.endsWith("on all ranks, 0 chunks sent again"));
    String digest = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
    for (int rank = 1; rank < 3; rank++) {
      Node node = cluster.node(rank + 1);
      assertThat(node.exec("sha256sum", to + "/rank" + rank + "/file").orThrow().stdout())
          .startsWith(digest);
      assertThat(node.exec("ls", "-A", to + "/rank" + rank).orThrow().stdout()).isEqualTo("file\n");
    }
  }
}
