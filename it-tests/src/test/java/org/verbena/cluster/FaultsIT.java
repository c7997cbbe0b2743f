package org.verbena.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** Every fault has its effect, and none is left after the node was brought back. */
@ClusterTest(nodes = 2)
class FaultsIT {
  private static final int PORT = 9;

  private final Node one;
  private final Node two;

  FaultsIT(Cluster cluster) {
    one = cluster.node(1);
    two = cluster.node(2);
  }

  @Test
  void aCutOffNodeIsNotReachedUntilItIsBroughtBack() {
    assertThat(knock()).as("an open network refuses at once").isEqualTo(1);
    two.cutOff();
    assertThat(knock()).as("a cut network is silent").isEqualTo(ExecResult.TIMED_OUT);
    two.bringBack();
    assertThat(knock()).isEqualTo(1);
  }

  @Test
  void aSlowNodeAnswersLater() {
    two.slow("delay", "400ms");
    assertThat(connectMillis()).isGreaterThanOrEqualTo(400);
    two.slow("loss", "100%");
    assertThat(knock()).isEqualTo(ExecResult.TIMED_OUT);
    two.bringBack();
    assertThat(knock()).isEqualTo(1);
  }

  @Test
  void aStoppedNodeDoesNothingUntilItGoesOn() throws Exception {
    two.call(() -> "warm");
    two.stop();
    CompletableFuture<String> answer = two.submit(() -> "awake");
    assertThatThrownBy(() -> answer.get(3, TimeUnit.SECONDS)).isInstanceOf(TimeoutException.class);
    two.cont();
    assertThat(answer.get(90, TimeUnit.SECONDS)).isEqualTo("awake");
  }

  @Test
  void aKilledNodeFailsItsTasksAndComesBackWithADevice() {
    CompletableFuture<String> task =
        two.submit(
            () -> {
              Thread.sleep(Duration.ofMinutes(5));
              return "never";
            });
    two.kill();
    assertThatThrownBy(() -> task.get(90, TimeUnit.SECONDS))
        .hasCauseInstanceOf(ClusterException.class)
        .hasMessageContaining("node2");
    two.bringBack();
    assertThat(two.exec("ibv_devinfo", "-d", two.device().name()).orThrow().stdout())
        .contains("PORT_ACTIVE");
    assertThat(two.call(() -> "back")).isEqualTo("back");
    assertThat(knock()).as("it is found by its name").isEqualTo(1);
  }

  @Test
  void aKilledJavaProcessIsReportedAndStartedAnew() {
    CompletableFuture<String> task =
        two.submit(
            () -> {
              Thread.sleep(Duration.ofMinutes(5));
              return "never";
            });
    two.call(() -> "it runs");
    two.signalJava("KILL");
    assertThatThrownBy(() -> task.get(90, TimeUnit.SECONDS))
        .hasMessageContaining("node2: its Java process has ended")
        .hasMessageContaining("137");
    assertThat(two.call(() -> "anew")).isEqualTo("anew");
  }

  @Test
  void aStoppedJavaProcessLeavesItsHostRunning() throws Exception {
    two.call(() -> "warm");
    two.signalJava("STOP");
    CompletableFuture<String> answer = two.submit(() -> "awake");
    assertThat(two.exec("echo", "host").orThrow().stdout()).isEqualTo("host\n");
    assertThat(answer).isNotDone();
    two.signalJava("CONT");
    assertThat(answer.get(90, TimeUnit.SECONDS)).isEqualTo("awake");
  }

  /** Knocks at a port of node2 where nobody listens: 1 if refused, 124 if nothing came back. */
  private long knock() {
    return one.exec(Duration.ofSeconds(4), "bash", "-c", "echo >/dev/tcp/node2/" + PORT).exitCode();
  }

  private long connectMillis() {
    String script =
        "start=$(date +%s%N); echo >/dev/tcp/node2/"
            + PORT
            + " 2>/dev/null; echo $((($(date +%s%N) - start) / 1000000))";
    return Long.parseLong(one.exec("bash", "-c", script).stdout().strip());
  }
}
