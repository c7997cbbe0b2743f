package org.verbena.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;
import org.verbena.cluster.Node;

/** All moves between hosts, with loss, and with a rank that is killed. */
@ClusterTest(nodes = 3)
class CollectiveIT {
  private static final int RANKS = 3;
  private static final long LIMIT_SECONDS = 240;

  private final Cluster cluster;

  CollectiveIT(Cluster cluster) {
    this.cluster = cluster;
  }

  private List<CompletableFuture<String>> start(RankTask.Part part, boolean mixed) {
    // So that no deadline counts the start of a Java process.
    cluster.nodes().stream()
        .map(node -> node.submit(() -> "started").orTimeout(LIMIT_SECONDS, TimeUnit.SECONDS))
        .toList()
        .forEach(CompletableFuture::join);
    String job = "collective-" + System.nanoTime();
    List<CompletableFuture<String>> ranks = new ArrayList<>();
    for (int rank = 0; rank < RANKS; rank++) {
      ranks.add(cluster.node(rank + 1).submit(new RankTask(part, rank, RANKS, job, mixed)));
    }
    return ranks;
  }

  private static void awaitAll(List<CompletableFuture<String>> ranks) throws Exception {
    for (CompletableFuture<String> rank : ranks) {
      assertThat(rank.get(LIMIT_SECONDS, TimeUnit.SECONDS)).isEqualTo("done");
    }
  }

  @ParameterizedTest
  @CsvSource({"false, 1%", "true, 0%"})
  void allMovesWorkBetweenHosts(boolean mixed, String loss) throws Exception {
    if (!loss.equals("0%")) {
      cluster.nodes().forEach(node -> node.slow("loss", loss));
    }
    awaitAll(start(RankTask.Part.ALL_MOVES, mixed));
  }

  @Test
  void whenARankIsKilledUnderWayTheOthersNameItAndKeepNothing() throws Exception {
    theOthersNameARankThatIsKilledIn(RankTask.Part.ENDLESS_SYNC);
  }

  @Tag("long")
  @ParameterizedTest
  @EnumSource(names = {"ENDLESS_LINKS", "ENDLESS_GATHER", "ENDLESS_COUNT"})
  void theOthersNameARankThatIsKilledIn(RankTask.Part part) throws Exception {
    Node killed = cluster.node(3);
    List<CompletableFuture<String>> ranks = start(part, false);
    killed.submit(() -> RankTask.awaitProgress()).get(LIMIT_SECONDS, TimeUnit.SECONDS);
    killed.signalJava("KILL");
    assertThatThrownBy(() -> ranks.get(2).get(LIMIT_SECONDS, TimeUnit.SECONDS))
        .isInstanceOf(ExecutionException.class);
    for (int rank = 0; rank < 2; rank++) {
      assertThat(ranks.get(rank).get(LIMIT_SECONDS, TimeUnit.SECONDS))
          .startsWith("lost rank 2, nothing kept: rank " + rank + ": ");
    }
  }
}
