package org.verbena.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.ConnectException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;

/** The program of the README, between two hosts. */
@ClusterTest(nodes = 2)
class RdmaExampleIT {
  private static final Duration LIMIT = Duration.ofMinutes(2);

  private final Cluster cluster;

  RdmaExampleIT(Cluster cluster) {
    this.cluster = cluster;
  }

  @Test
  void theClientWritesReadsAndAdds() {
    CompletableFuture<String> server = cluster.node(1).submit(() -> printed());
    CompletableFuture<String> client = cluster.node(2).submit(() -> printed("node1"));
    CompletableFuture.anyOf(server, client).orTimeout(3, TimeUnit.MINUTES).join();
    assertThat(client.orTimeout(3, TimeUnit.MINUTES).join()).isEqualTo("7\n42\n0\n");
    assertThat(server.orTimeout(3, TimeUnit.MINUTES).join()).isEqualTo("7\n42\n5\n");
  }

  /** What the program prints; a client that comes too early tries again. */
  private static String printed(String... arguments) throws Exception {
    PrintStream out = System.out;
    long deadline = System.nanoTime() + LIMIT.toNanos();
    while (true) {
      ByteArrayOutputStream printed = new ByteArrayOutputStream();
      System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
      try {
        RdmaExample.main(arguments);
        return printed.toString(StandardCharsets.UTF_8);
      } catch (ConnectException e) {
        if (System.nanoTime() > deadline) {
          throw e;
        }
      } finally {
        System.setOut(out);
      }
    }
  }
}
