package org.verbena.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.layout.ExchangeShape;

/** The cluster itself: devices, programs of others, and Java of this build. */
@ClusterTest(nodes = 3)
class ClusterIT {
  private static final Duration PAIR = Duration.ofMinutes(2);

  private final Cluster cluster;

  ClusterIT(Cluster cluster) {
    this.cluster = cluster;
  }

  @Test
  void everyNodeHasItsOwnDeviceWithAnRoutableGid() {
    assertThat(cluster.nodes().stream().map(node -> node.device().name())).doesNotHaveDuplicates();
    for (Node node : cluster.nodes()) {
      RdmaDevice device = node.device();
      assertThat(node.exec("rdma", "link", "show", device.name() + "/1").orThrow().stdout())
          .contains("state ACTIVE")
          .contains("netdev eth0");
      String[] bytes = device.address().split("\\.", -1);
      assertThat(device.gid())
          .isEqualTo(
              "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x"
                  .formatted(
                      Integer.parseInt(bytes[0]),
                      Integer.parseInt(bytes[1]),
                      Integer.parseInt(bytes[2]),
                      Integer.parseInt(bytes[3])));
      assertThat(node.exec("ibv_devinfo", "-v", "-d", device.name()).orThrow().stdout())
          .containsPattern(
              "GID\\[ *%d\\]:\\s+::ffff:%s, RoCE v2"
                  .formatted(device.gidIndex(), device.address().replace(".", "\\.")));
    }
  }

  @Test
  void nodesResolveEachOtherByName() {
    for (Node node : cluster.nodes()) {
      for (Node peer : cluster.nodes()) {
        assertThat(node.exec("getent", "ahostsv4", peer.name()).orThrow().stdout())
            .startsWith(peer.device().address() + " ");
      }
    }
  }

  @Test
  void pingPongRunsBetweenNodes() throws Exception {
    RdmaDevice one = cluster.node(1).device();
    RdmaDevice two = cluster.node(2).device();
    ExecResult client =
        pair(
            new String[] {
              "ibv_rc_pingpong", "-d", one.name(), "-g", "" + one.gidIndex(), "-n", "100"
            },
            new String[] {
              "ibv_rc_pingpong", "-d", two.name(), "-g", "" + two.gidIndex(), "-n", "100", "node1"
            });
    assertThat(client.stdout()).contains("100 iters in");
  }

  @ParameterizedTest
  @ValueSource(strings = {"ib_write_lat -s 8", "ib_write_bw -s 14336"})
  void perftestRunsBetweenNodes(String program) throws Exception {
    String command = program + " -n 200 -F -d %s -x %d";
    RdmaDevice one = cluster.node(1).device();
    RdmaDevice two = cluster.node(2).device();
    ExecResult client =
        pair(
            command.formatted(one.name(), one.gidIndex()).split(" ", -1),
            (command.formatted(two.name(), two.gidIndex()) + " node1").split(" ", -1));
    assertThat(client.stdout()).contains("#bytes").containsPattern("\\n *(8|14336) +200 ");
  }

  @Test
  void javaOfThisBuildRunsInEveryNode() {
    for (Node node : cluster.nodes()) {
      assertThat(node.<String>call(() -> InetAddress.getLocalHost().getHostName()))
          .isEqualTo(node.name());
      assertThat(node.<Integer>call(() -> Runtime.version().feature())).isEqualTo(25);
      assertThat(node.<String>call(() -> ExchangeShape.class.getName()))
          .isEqualTo(ExchangeShape.class.getName());
    }
  }

  @Test
  void whatATaskThrowsComesBack() {
    assertThatThrownBy(
            () ->
                cluster
                    .node(1)
                    .call(
                        () -> {
                          throw new IllegalStateException("on purpose");
                        }))
        .isInstanceOf(ClusterException.class)
        .hasMessageContaining("node1")
        .hasRootCauseInstanceOf(IllegalStateException.class)
        .hasRootCauseMessage("on purpose");
  }

  @Test
  void theCommandOfThisBuildIsOnThePathOfEveryNode() {
    for (Node node : cluster.nodes()) {
      assertThat(node.exec("verbena", "--version").orThrow().stdout()).contains("verbena");
    }
  }

  @Test
  void aCommandPastItsDeadlineIsKilledAndSaysSo() {
    assertThat(cluster.node(1).exec(Duration.ofSeconds(1), "sleep", "50").exitCode())
        .isEqualTo(ExecResult.TIMED_OUT);
    assertThat(cluster.node(1).exec("pgrep", "-f", "[s]leep 50").exitCode()).isEqualTo(1);
  }

  @Test
  void aTestThatFailsKeepsTheLogs() throws Exception {
    Path folder = Build.current().logs().resolve("kept");
    cluster.keepLogs(folder);
    assertThat(folder.resolve("node2.log")).content().contains("node2: ").contains("is ready");
    assertThat(folder.resolve("dmesg.log")).content().contains("Linux version");
  }

  /** The client is started again until the server listens. */
  private ExecResult pair(String[] server, String[] client) throws Exception {
    CompletableFuture<ExecResult> serving = cluster.node(1).execAsync(PAIR, server);
    long deadline = System.nanoTime() + PAIR.toNanos();
    ExecResult result;
    do {
      result = cluster.node(2).exec(PAIR, client);
    } while (result.exitCode() != 0 && !serving.isDone() && System.nanoTime() < deadline);
    serving.get().orThrow();
    return result.orThrow();
  }
}
