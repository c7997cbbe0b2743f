package org.verbena.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Repetitions that the long lane runs: the cluster must bear what later tests do to it. */
@Tag("long")
@ClusterTest(nodes = 2)
class ClusterSoakIT {
  private final Node one;
  private final Node two;

  ClusterSoakIT(Cluster cluster) {
    one = cluster.node(1);
    two = cluster.node(2);
  }

  @RepeatedTest(20)
  void aNodeBearsBeingKilled() throws Exception {
    two.kill();
    two.bringBack();
    pingPong(100);
    assertThat(two.call(() -> "back")).isEqualTo("back");
  }

  @Test
  void tenThousandRoundTripsBearLoss() throws Exception {
    two.slow("loss", "1%");
    pingPong(10_000);
  }

  private void pingPong(int rounds) throws Exception {
    Duration deadline = Duration.ofMinutes(10);
    CompletableFuture<ExecResult> serving = one.execAsync(deadline, command(one, rounds, ""));
    ExecResult client;
    do {
      client = two.exec(deadline, command(two, rounds, one.name()));
    } while (client.exitCode() != 0 && !serving.isDone());
    serving.get().orThrow();
    assertThat(client.orThrow().stdout()).contains(rounds + " iters in");
  }

  private static String[] command(Node node, int rounds, String peer) {
    RdmaDevice device = node.device();
    return "ibv_rc_pingpong -d %s -g %d -n %d %s"
        .formatted(device.name(), device.gidIndex(), rounds, peer)
        .strip()
        .split(" ", -1);
  }
}
