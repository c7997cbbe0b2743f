package org.verbena.transport.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.verbena.acceptance.Acceptance;
import org.verbena.acceptance.Acceptance.CombineWay;
import org.verbena.acceptance.Acceptance.PhaseOrder;
import org.verbena.bootstrap.Group;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;
import org.verbena.cluster.Node;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.Exchange;
import org.verbena.moe.ExchangeConfig;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.WrappedProvider;

/** Many rounds of random shapes between two nodes, on a network that loses packets. */
@Tag("long")
@ClusterTest(nodes = 2)
class RdmaSoakIT {
  private static final int PARTS = 4;
  private static final int SHAPES = 10;
  private static final int ROUNDS = 50;

  private final Cluster cluster;

  RdmaSoakIT(Cluster cluster) {
    this.cluster = cluster;
  }

  @RepeatedTest(PARTS)
  void everyValueIsRightAndNothingIsLeft() throws Exception {
    long seed = new Random().nextLong();
    System.err.println("RdmaSoakIT: seed " + seed);
    Hosts hosts = new Hosts(cluster, 2, 1);
    hosts.run(group -> rounds(group, new Random(seed), 2));
    String before = resources();
    cluster.node(1).slow("loss", "1%");
    cluster.node(2).slow("loss", "1%");
    for (int shape = 0; shape < SHAPES; shape++) {
      long each = seed + shape;
      hosts.run(group -> soak(group, new Random(each)));
    }
    assertThat(resources()).as("seed %d", seed).isEqualTo(before);
  }

  /** Queue pairs, completion queues and regions that each node has. */
  private String resources() {
    List<String> counts = new ArrayList<>();
    for (Node node : cluster.nodes().subList(0, 2)) {
      String device = node.device().name();
      counts.add(
          node.exec("sh", "-c", "rdma resource show " + device + " | sed 's/^[0-9]*: //'")
              .orThrow()
              .stdout());
    }
    return String.join("", counts);
  }

  /** Rounds after which devices have as much memory pinned for this process as before. */
  private static Boolean soak(Group group, Random random) throws IOException {
    String before = pinned();
    rounds(group, random, ROUNDS);
    assertThat(pinned()).isEqualTo(before);
    return true;
  }

  private static String pinned() throws IOException {
    try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
      return lines.filter(line -> line.startsWith("VmPin:")).findFirst().orElseThrow();
    }
  }

  private static Boolean rounds(Group group, Random random, int rounds) {
    int tokens = 1 + random.nextInt(24);
    int experts = 1 + random.nextInt(12);
    ExchangeShape shape =
        new ExchangeShape(
            2, tokens, 8 * (1 + random.nextInt(100)), experts, 1 + random.nextInt(experts));
    RdmaSettings settings =
        RdmaSettings.builder()
            .queueDepth(2 + random.nextInt(60))
            .chunkBytes(256 + random.nextInt(5_000))
            .queuePairs(1 + random.nextInt(3))
            .build();
    ExchangeConfig config =
        ExchangeConfig.builder(shape)
            .chunkBytes(1 + random.nextInt(20_000))
            .timeout(Duration.ofSeconds(60))
            .build();
    PhaseOrder[] orders = PhaseOrder.values();
    List<RdmaTransport> opened = new ArrayList<>();
    TransportProvider provider =
        new WrappedProvider(
            new RdmaProvider(settings),
            (_, transport) -> {
              opened.add((RdmaTransport) transport);
              return transport;
            });
    try (Exchange exchange = Exchange.open(group, provider, config);
        Acceptance acceptance =
            new Acceptance(exchange, (rank, input) -> tokens - input * rank, true, 5)) {
      acceptance.run(
          rounds,
          orders[random.nextInt(orders.length)],
          CombineWay.HANDED_OVER,
          (round, phase, nanos) -> {});
      long deadline = System.nanoTime() + config.timeout().toNanos();
      assertThat(opened.getFirst().settle(deadline)).as("all slots are free again").isTrue();
      group.allGather("end of rounds", new byte[0]);
    }
    return true;
  }
}
