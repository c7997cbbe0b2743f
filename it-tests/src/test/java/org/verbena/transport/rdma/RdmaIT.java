package org.verbena.transport.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.verbena.acceptance.Acceptance;
import org.verbena.acceptance.Acceptance.CombineWay;
import org.verbena.acceptance.Acceptance.PhaseOrder;
import org.verbena.bootstrap.Group;
import org.verbena.bootstrap.GroupException;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;
import org.verbena.cluster.Node;
import org.verbena.cluster.SecondDevice;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.DeviceAllocation;
import org.verbena.moe.DeviceExchange;
import org.verbena.moe.Exchange;
import org.verbena.moe.ExchangeConfig;
import org.verbena.moe.ReceivedRows;
import org.verbena.transport.PeerException;
import org.verbena.transport.Traffic;
import org.verbena.transport.Traffic.Operation;
import org.verbena.transport.TransportProvider;

/** The exchange over RDMA and in mixed groups, between nodes with soft-RoCE devices. */
@ClusterTest(nodes = 3)
class RdmaIT {
  private static final Duration LONG = Duration.ofMinutes(10);

  /** For what a node has to begin or to notice. */
  private static final Duration PATIENCE = Duration.ofSeconds(150);

  /** Of a round's waits, where packets are lost or nodes are slow. */
  private static final Duration ROUND = Duration.ofSeconds(90);

  private final Cluster cluster;

  RdmaIT(Cluster cluster) {
    this.cluster = cluster;
  }

  @Tag("long")
  @Test
  void theContractOfTransportsHoldsOnADevice() {
    assertThat(cluster.node(1).<Long>call(LONG, () -> Hosts.runTests(DeviceTransport.class)))
        .isGreaterThan(10);
  }

  @Tag("long")
  @Test
  void theContractOfExchangesHoldsOnADevice() {
    assertThat(cluster.node(2).<Long>call(LONG, () -> Hosts.runTests(DeviceExchange.class)))
        .isGreaterThan(30);
  }

  /** Settings as variables: what a task takes with it must be serializable. */
  private static Map<String, String> settings(String... names) {
    Map<String, String> settings = new HashMap<>();
    for (int i = 0; i < names.length; i += 2) {
      settings.put("VERBENA_RDMA_" + names[i], names[i + 1]);
    }
    return settings;
  }

  private static RdmaProvider rdma(Map<String, String> settings) {
    return new RdmaProvider(RdmaSettings.fromEnvironment(settings));
  }

  /** Accepts an exchange; returns what was posted by this rank. */
  private static List<Long> accept(
      Group group, TransportProvider provider, int[] sizes, long chunk, int rounds) {
    ExchangeShape shape = new ExchangeShape(sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]);
    ExchangeConfig config = ExchangeConfig.builder(shape).chunkBytes(chunk).timeout(ROUND).build();
    try (Exchange exchange = Exchange.open(group, provider, config);
        Acceptance acceptance =
            new Acceptance(
                exchange, (rank, input) -> Math.max(0, shape.tokens() - rank * input), true, 5)) {
      acceptance.run(
          rounds, PhaseOrder.DISPATCH_AHEAD, CombineWay.HANDED_OVER, (round, phase, nanos) -> {});
      group.allGather("end of test", new byte[0]);
      List<Long> posted = new ArrayList<>();
      for (Operation operation : Operation.values()) {
        posted.add(exchange.traffic().operations(operation));
      }
      return posted;
    }
  }

  @ParameterizedTest
  @CsvSource({
    // nodes, ranks per node, mixed, T, H, E, K
    "2, 1, false, 128, 256, 288, 8",
    "2, 2, true, 16, 1000, 10, 3",
    "3, 1, false, 16, 264, 7, 7",
    "3, 2, false, 8, 2048, 24, 8",
    "3, 3, true, 12, 512, 288, 8",
  })
  void isAccepted(
      int nodes, int ranks, boolean mixed, int tokens, int hidden, int experts, int topk)
      throws Exception {
    int[] sizes = {nodes * ranks, tokens, hidden, experts, topk};
    new Hosts(cluster, nodes, ranks)
        .run(
            group ->
                accept(
                    group,
                    mixed
                        ? new MixedProvider(RdmaSettings.DEFAULTS)
                        : new RdmaProvider(RdmaSettings.DEFAULTS),
                    sizes,
                    4_000,
                    6));
  }

  @ParameterizedTest
  @EnumSource(SignalKind.class)
  void signalsByEveryKind(SignalKind kind) throws Exception {
    int[] sizes = {2, 16, 264, 9, 3};
    int rounds = 6;
    List<List<Long>> posted =
        new Hosts(cluster, 2, 1)
            .run(
                group ->
                    accept(
                        group,
                        new RdmaProvider(RdmaSettings.builder().signal(kind).build()),
                        sizes,
                        1 << 20,
                        rounds));
    Operation operation = Operation.valueOf(kind.name());
    for (List<Long> rank : posted) {
      long signals = rank.get(List.of(Operation.values()).indexOf(operation));
      if (kind == SignalKind.WRITE) {
        assertThat(signals).isGreaterThan(2L * rounds);
      } else {
        assertThat(signals).isEqualTo(2L * rounds);
      }
    }
  }

  @Test
  void aSteadyRoundAllocatesNothing() {
    assertThat(cluster.node(3).<Long>call(LONG, () -> Hosts.runTests(DeviceAllocation.class)))
        .isEqualTo(2);
  }

  @Test
  void registeredMemoryIsSentFromWhereItIs() throws Exception {
    List<List<Long>> posted = new Hosts(cluster, 2, 1).run(RdmaIT::sendRegistered);
    for (List<Long> rank : posted) {
      // An index and a routing entry for each row, and nothing of the rows.
      assertThat(rank.get(0)).isEqualTo(40 * (4 + 8));
      // 15 messages of two pieces each are one write, beside routing and count; then the combine.
      assertThat(rank.get(1)).isLessThanOrEqualTo(3 + 2 + 2);
    }
  }

  /** Sends a rank's tokens to the other and back; returns bytes copied and writes posted. */
  private static List<Long> sendRegistered(Group group) {
    int tokens = 40;
    long bytes = 2L * tokens * 1024;
    ExchangeConfig config =
        ExchangeConfig.builder(new ExchangeShape(2, tokens, 1024, 2, 1)).build();
    try (Arena arena = Arena.ofConfined();
        Exchange exchange = Exchange.open(group, new RdmaProvider(RdmaSettings.DEFAULTS), config)) {
      MemorySegment tensors = arena.allocate(2 * bytes, 4096);
      MemorySegment in = tensors.asSlice(0, bytes);
      MemorySegment finished = tensors.asSlice(bytes);
      exchange.register(tensors);
      MemorySegment experts = arena.allocate(4L * tokens, 64);
      MemorySegment weights = arena.allocate(4L * tokens, 64);
      for (int i = 0; i < tokens; i++) {
        experts.setAtIndex(ValueLayout.JAVA_INT, i, 1 - group.rank());
      }
      for (int i = 0; i < bytes / 2; i++) {
        in.setAtIndex(ValueLayout.JAVA_SHORT, i, (short) (i + group.rank()));
      }
      Traffic traffic = exchange.traffic();
      long epoch = exchange.sendDispatch(in, experts, weights, tokens);
      ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
      for (int row = 0; row < rows.rows(); row++) {
        rows.copyRow(row, finished, 2048L * row);
      }
      exchange.sendFinished(epoch, finished);
      long writes = traffic.operations(Operation.WRITE);
      MemorySegment out = arena.allocate(bytes, 64);
      exchange.receiveCombine(epoch, out);
      // NaN comes back as the one that stands for all.
      for (int i = 0; i < bytes / 2; i++) {
        short value = in.getAtIndex(ValueLayout.JAVA_SHORT, i);
        boolean number = (value & 0x7f80) != 0x7f80 && value != (short) 0x8000;
        assertThat(!number || out.getAtIndex(ValueLayout.JAVA_SHORT, i) == value).isTrue();
      }
      group.allGather("end of test", new byte[0]);
      return List.of(exchange.counters().copiedBytes(), writes);
    }
  }

  @Test
  void windowsAreOnHugePages() throws Exception {
    Node node = cluster.node(1);
    String pages = "/sys/kernel/mm/hugepages/hugepages-2048kB/";
    node.exec(
            "sh",
            "-c",
            "mkdir -p /mnt/huge && mount -t hugetlbfs -o pagesize=2M none /mnt/huge"
                + " && echo 8 >%1$snr_hugepages && grep -q 8 %1$snr_hugepages".formatted(pages))
        .orThrow();
    try {
      Map<String, String> settings = settings("HUGE_PAGES", "/mnt/huge");
      int[] sizes = {2, 8, 256, 4, 2};
      new Hosts(cluster, 1, 2)
          .run(
              group -> {
                ExchangeConfig config =
                    ExchangeConfig.builder(new ExchangeShape(2, 128, 256, 2, 1)).build();
                try (Exchange exchange = Exchange.open(group, rdma(settings), config)) {
                  group.allGather("opened", new byte[0]);
                  assertThat(exchange.layout().allocationBytes()).isLessThan(2 << 20);
                  assertThat(Files.readString(Path.of(pages, "free_hugepages")).strip())
                      .isEqualTo("6");
                  group.allGather("looked", new byte[0]);
                }
                return accept(group, rdma(settings), sizes, 1_000, 4);
              });
    } finally {
      node.exec("sh", "-c", "umount /mnt/huge; echo 0 >%snr_hugepages".formatted(pages)).orThrow();
    }
  }

  /** How a rank of two reaches the other. */
  private static String pathToPeer(Group group, TransportProvider provider) {
    ExchangeConfig config = ExchangeConfig.builder(new ExchangeShape(2, 1, 8, 2, 1)).build();
    try (Exchange exchange = Exchange.open(group, provider, config)) {
      String path = exchange.path(1 - group.rank());
      group.allGather("looked", new byte[0]);
      return path;
    }
  }

  @Test
  void largePacketsAreUsedWhereTheNetworkHasThem() throws Exception {
    try (SecondDevice second = SecondDevice.alone(cluster.node(1))) {
      String device = second.name();
      Map<String, String> settings = settings("DEVICE", device);
      int[] sizes = {2, 16, 2048, 8, 3};
      new Hosts(cluster, 1, 2)
          .run(
              group -> {
                assertThat(pathToPeer(group, rdma(settings))).contains(device, "MTU 4096");
                return accept(group, rdma(settings), sizes, 20_000, 6);
              });
    }
  }

  @Test
  void ofTwoDevicesTheOneThatIsDownIsLeftAlone() throws Exception {
    String own = cluster.node(1).device().name();
    try (SecondDevice second = SecondDevice.alone(cluster.node(1))) {
      second.takeDown();
      int[] sizes = {2, 8, 256, 4, 2};
      new Hosts(cluster, 2, 1)
          .run(
              group -> {
                RdmaProvider provider = new RdmaProvider(RdmaSettings.DEFAULTS);
                String path = pathToPeer(group, provider);
                if (group.rank() == 0) {
                  assertThat(path).startsWith(own + " ");
                }
                return accept(group, provider, sizes, 1_000, 4);
              });
      String down = second.name();
      Map<String, String> settings = settings("DEVICE", down);
      new Hosts(cluster, 1, 1)
          .run(
              group -> {
                assertThatThrownBy(
                        () ->
                            Exchange.open(
                                group,
                                rdma(settings),
                                ExchangeConfig.builder(new ExchangeShape(1, 1, 8, 1, 1)).build()))
                    .isInstanceOf(GroupException.class)
                    .hasMessageContainingAll("rank 0", down, "DOWN");
                return true;
              });
    }
  }

  /** Sends all of a rank's tokens to the other rank, in the full width. */
  private static List<Long> sendAll(Group group, int tokens, long chunk) throws IOException {
    ExchangeShape shape = new ExchangeShape(2, tokens, 7168, 2, 2);
    ExchangeConfig config = ExchangeConfig.builder(shape).chunkBytes(chunk).build();
    try (Arena arena = Arena.ofConfined();
        Exchange exchange = Exchange.open(group, new RdmaProvider(RdmaSettings.DEFAULTS), config)) {
      MemorySegment in = arena.allocate(2L * tokens * 7168, 64);
      MemorySegment experts = arena.allocate(4L * tokens * 2, 64);
      MemorySegment weights = arena.allocate(4L * tokens * 2, 64);
      for (int i = 0; i < 2 * tokens; i++) {
        int expert = i % 2 == 0 ? 1 - group.rank() : -1;
        experts.setAtIndex(ValueLayout.JAVA_INT, i, expert);
        weights.setAtIndex(ValueLayout.JAVA_FLOAT, i, 1);
      }
      group.allGather("before", new byte[0]);
      long sentBefore = sentByInterface();
      Traffic traffic = exchange.traffic();
      long bytesBefore = traffic.bytes();
      long epoch = exchange.sendDispatch(in, experts, weights, tokens);
      long dispatched = traffic.bytes() - bytesBefore;
      ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
      MemorySegment output = arena.allocate(2L * rows.entries() * 7168, 64);
      exchange.sendCombine(epoch, output);
      exchange.receiveCombine(epoch, in);
      long bytes = traffic.bytes() - bytesBefore;
      group.allGather("after", new byte[0]);
      long sent = sentByInterface() - sentBefore;
      return List.of(dispatched, traffic.signals(1 - group.rank()), bytes, sent);
    }
  }

  private static long sentByInterface() throws IOException {
    Path counter = Path.of("/sys/class/net/eth0/statistics/tx_bytes");
    return Long.parseLong(Files.readString(counter).strip());
  }

  /** One copy of each row, two signals for each peer and round, and one for each further chunk. */
  @Test
  void postsWhatIsNeededAndLittleMore() throws Exception {
    int tokens = 64;
    long rowBytes = 2 * 7168;
    long chunk = 256 << 10;
    long chunks = Math.ceilDiv(tokens, chunk / rowBytes);
    for (List<Long> rank : new Hosts(cluster, 2, 1).run(group -> sendAll(group, tokens, chunk))) {
      assertThat(rank.get(0)).isBetween(tokens * rowBytes, tokens * rowBytes * 102 / 100);
      assertThat(rank.get(1)).isEqualTo(2 + chunks - 1);
      // Packets of 1024 bytes have headers of less than 10 %; acknowledgements go the other way.
      assertThat(rank.get(3)).isBetween(rank.get(2), rank.get(2) * 120 / 100);
    }
  }

  /** Each row is a request of its own, and far more of them are needed than there are slots. */
  @Test
  void aQueueOf16SlotsCarriesHundredsOfRows() throws Exception {
    int[] sizes = {2, 300, 512, 4, 2};
    Map<String, String> settings = settings("QUEUE_DEPTH", "16", "CHUNK", "1024");
    new Hosts(cluster, 2, 1).run(group -> accept(group, rdma(settings), sizes, 1 << 20, 4));
  }

  @ParameterizedTest
  @CsvSource({"loss 1%", "delay 2ms", "delay 2ms reorder 25%"})
  void isAcceptedOverABadNetwork(String netem) throws Exception {
    cluster.node(1).slow(netem.split(" "));
    cluster.node(2).slow(netem.split(" "));
    int[] sizes = {2, 16, 512, 8, 3};
    new Hosts(cluster, 2, 1)
        .run(group -> accept(group, new RdmaProvider(RdmaSettings.DEFAULTS), sizes, 4_000, 10));
  }

  @Test
  void sixtyFourQueuePairsInAProcess() throws Exception {
    int[] sizes = {2, 8, 256, 4, 2};
    Map<String, String> settings = settings("QUEUE_PAIRS", "64", "QUEUE_DEPTH", "16");
    new Hosts(cluster, 2, 1).run(group -> accept(group, rdma(settings), sizes, 1_000, 6));
  }

  /** By devices without an IPv4 address, whose table has a link-local GID first. */
  @Test
  @Tag("long")
  void ranksMeetOverIpv6() throws Exception {
    int[] sizes = {2, 8, 256, 4, 2};
    try (SecondDevice one = SecondDevice.ofIpv6(cluster.node(1), "fd00::1");
        SecondDevice other = SecondDevice.ofIpv6(cluster.node(2), "fd00::2")) {
      Map<String, String> first = settings("DEVICE", one.name());
      Map<String, String> second = settings("DEVICE", other.name());
      new Hosts(cluster, 2, 1)
          .run(
              group -> {
                Map<String, String> settings = group.rank() == 0 ? first : second;
                assertThat(pathToPeer(group, rdma(settings)))
                    .contains("fd00::%d".formatted(group.rank() + 1), "MTU 1024");
                return accept(group, rdma(settings), sizes, 1_000, 6);
              });
    }
  }

  /** Rounds until a peer fails; returns the message, and how long closing took in nanoseconds. */
  private static List<String> untilFailure(Group group, int lost) {
    ExchangeShape shape = new ExchangeShape(2, 8, 256, 4, 2);
    ExchangeConfig config = ExchangeConfig.builder(shape).timeout(Duration.ofSeconds(8)).build();
    Exchange exchange = Exchange.open(group, new RdmaProvider(RdmaSettings.DEFAULTS), config);
    List<String> told = new ArrayList<>();
    try (Acceptance acceptance = new Acceptance(exchange, (rank, input) -> 8, false, 3)) {
      assertThatThrownBy(
              () ->
                  acceptance.run(
                      1_000_000,
                      PhaseOrder.SEQUENTIAL,
                      CombineWay.HANDED_OVER,
                      (round, phase, nanos) -> {}))
          .isInstanceOfSatisfying(PeerException.class, e -> assertThat(e.peer()).isEqualTo(lost))
          .satisfies(e -> told.add(String.valueOf(e.getMessage())));
    }
    long start = System.nanoTime();
    exchange.close();
    assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(5));
    return told;
  }

  @Test
  @Tag("long")
  void aKilledRankIsNamed() throws Exception {
    List<CompletableFuture<List<List<String>>>> running =
        new Hosts(cluster, 2, 1).start(group -> untilFailure(group, 1));
    awaitTraffic(cluster.node(2));
    cluster.node(2).signalJava("KILL");
    assertThat(running.get(0).get(PATIENCE.toSeconds(), TimeUnit.SECONDS).getFirst().getFirst())
        .contains("rank 0", "epoch", "rank 1")
        .doesNotContain("nothing came within");
    assertThat(running.get(1)).failsWithin(PATIENCE);
  }

  @Test
  void aStoppedRankIsGivenUpAtTheDeadline() throws Exception {
    List<CompletableFuture<List<List<String>>>> running =
        new Hosts(cluster, 2, 1).start(group -> untilFailure(group, 1));
    awaitTraffic(cluster.node(2));
    cluster.node(2).signalJava("STOP");
    assertThat(running.get(0).get(PATIENCE.toSeconds(), TimeUnit.SECONDS).getFirst().getFirst())
        .contains("rank 0", "epoch", "nothing came within");
    cluster.node(2).signalJava("KILL");
    // What is submitted before its end is seen would be lost with it.
    assertThat(running.get(1)).failsWithin(PATIENCE);
  }

  /** Returns once a node sends more than a connection does when it is made. */
  private static void awaitTraffic(Node node) {
    String script =
        "f=/sys/class/net/eth0/statistics/tx_bytes; s=$(cat $f);"
            + " until [ $(($(cat $f) - s)) -gt 200000 ]; do sleep 0.1; done";
    node.exec(PATIENCE, "sh", "-c", script).orThrow();
  }
}
