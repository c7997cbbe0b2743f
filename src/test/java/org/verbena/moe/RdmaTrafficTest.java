package org.verbena.moe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.verbena.acceptance.Acceptance;
import org.verbena.acceptance.Acceptance.CombineWay;
import org.verbena.acceptance.Acceptance.PhaseOrder;
import org.verbena.acceptance.Ranks;
import org.verbena.bootstrap.GroupException;
import org.verbena.layout.ExchangeShape;
import org.verbena.transport.PeerException;
import org.verbena.transport.Traffic;
import org.verbena.transport.Traffic.Operation;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.rdma.FabricProvider;
import org.verbena.transport.rdma.RdmaSettings;
import org.verbena.transport.rdma.SignalKind;
import org.verbena.transport.shm.ShmTransport;
import org.verbena.verbs.AtomicCapability;
import org.verbena.verbs.Fabric;

/** What an exchange posts over RDMA, and what it does when a device fails it. */
class RdmaTrafficTest {
  private final Fabric fabric = new Fabric(23);

  @TempDir Path folder;

  @AfterEach
  void close() {
    fabric.close();
  }

  private TransportProvider rdma(RdmaSettings settings) {
    return FabricProvider.rdma(fabric, settings);
  }

  private static ExchangeConfig config(ExchangeShape shape, long chunk) {
    return ExchangeConfig.builder(shape).chunkBytes(chunk).timeout(Duration.ofSeconds(30)).build();
  }

  private static void accept(Exchange exchange, int rounds) {
    int tokens = exchange.shape().tokens();
    try (Acceptance acceptance =
        new Acceptance(exchange, (rank, input) -> tokens - input, true, 5)) {
      acceptance.run(
          rounds, PhaseOrder.DISPATCH_AHEAD, CombineWay.HANDED_OVER, (round, phase, nanos) -> {});
    }
  }

  @ParameterizedTest
  @EnumSource(value = SignalKind.class, mode = EnumSource.Mode.EXCLUDE, names = "ATOMIC_WRITE")
  void signalsAreOfTheKindThatWasAskedFor(SignalKind kind) throws Exception {
    int rounds = 6;
    Ranks.run(
        3,
        group -> {
          ExchangeConfig config = config(new ExchangeShape(3, 6, 64, 9, 3), 1 << 20);
          RdmaSettings settings = RdmaSettings.builder().signal(kind).build();
          try (Exchange exchange = Exchange.open(group, rdma(settings), config)) {
            accept(exchange, rounds);
            Traffic traffic = exchange.traffic();
            for (int peer = 0; peer < 3; peer++) {
              assertThat(traffic.signals(peer)).isEqualTo(peer == group.rank() ? 0 : 2 * rounds);
            }
            for (Operation operation : Operation.values()) {
              boolean signals = operation.name().equals(kind.name());
              if (operation != Operation.WRITE) {
                assertThat(traffic.operations(operation)).isEqualTo(signals ? 4 * rounds : 0);
              }
            }
            group.allGather("end of test", new byte[0]);
          }
        });
  }

  /** One copy of each row and its entries; a signal for each phase, and for each further chunk. */
  @Test
  void whatIsPostedIsWhatIsNeeded() throws Exception {
    int tokens = 64;
    int hidden = 7168;
    long chunk = 256 << 10;
    ExchangeShape shape = new ExchangeShape(2, tokens, hidden, 4, 4);
    Ranks.run(
        2,
        group -> {
          try (Arena arena = Arena.ofConfined();
              Exchange exchange =
                  Exchange.open(group, rdma(RdmaSettings.DEFAULTS), config(shape, chunk))) {
            MemorySegment in = arena.allocate(2L * tokens * hidden, 64);
            MemorySegment experts = arena.allocate(4L * tokens * 4, 64);
            MemorySegment weights = arena.allocate(4L * tokens * 4, 64);
            for (int i = 0; i < 4 * tokens; i++) {
              experts.setAtIndex(ValueLayout.JAVA_INT, i, i % 4);
            }
            long epoch = exchange.sendDispatch(in, experts, weights, tokens);
            Traffic traffic = exchange.traffic();
            long needed = 2L * tokens * hidden;
            assertThat(traffic.bytes()).isBetween(needed, needed * 102 / 100);
            assertThat(traffic.signals(1 - group.rank())).isEqualTo(1);
            ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
            MemorySegment output = arena.allocate(2L * rows.entries() * hidden, 64);
            exchange.sendCombine(epoch, output);
            long chunks = Math.ceilDiv((long) tokens, chunk / (2L * hidden));
            assertThat(traffic.signals(1 - group.rank())).isEqualTo(1 + chunks);
            exchange.receiveCombine(epoch, in);
            group.allGather("end of test", new byte[0]);
          }
        });
  }

  /** The same input over every transport. */
  @Test
  void allTransportsGiveTheSameBits() throws Exception {
    Files.createDirectories(folder.resolve("host0"));
    Files.createDirectories(folder.resolve("host1"));
    List<TransportProvider> providers =
        List.of(
            ShmTransport.provider(folder),
            rdma(RdmaSettings.DEFAULTS),
            FabricProvider.mixed(fabric, RdmaSettings.DEFAULTS, folder, rank -> rank / 2));
    ExchangeShape shape = new ExchangeShape(4, 16, 264, 12, 5);
    ConcurrentHashMap<String, MemorySegment> results = new ConcurrentHashMap<>();
    for (TransportProvider provider : providers) {
      Ranks.run(
          4,
          group -> {
            try (Exchange exchange = Exchange.open(group, provider, config(shape, 2_000))) {
              MemorySegment out = round(exchange, new Random(group.rank()));
              results.put(provider.name() + group.rank(), out);
              group.allGather("end of test", new byte[0]);
            }
          });
    }
    for (int rank = 0; rank < 4; rank++) {
      MemorySegment expected = Objects.requireNonNull(results.get("shm" + rank));
      assertThat(expected.mismatch(results.get("rdma" + rank))).isEqualTo(-1);
      assertThat(expected.mismatch(results.get("mixed" + rank))).isEqualTo(-1);
    }
  }

  private static MemorySegment round(Exchange exchange, Random random) {
    ExchangeShape shape = exchange.shape();
    Arena arena = Arena.ofAuto();
    int values = shape.tokens() * shape.hidden();
    MemorySegment in = arena.allocate(2L * values, 64);
    for (int i = 0; i < values; i++) {
      in.setAtIndex(ValueLayout.JAVA_SHORT, i, Bf16.fromFloat((float) random.nextGaussian()));
    }
    int ids = shape.tokens() * shape.topk();
    MemorySegment experts = arena.allocate(4L * ids, 64);
    MemorySegment weights = arena.allocate(4L * ids, 64);
    for (int i = 0; i < ids; i++) {
      experts.setAtIndex(ValueLayout.JAVA_INT, i, random.nextInt(shape.experts()));
      weights.setAtIndex(ValueLayout.JAVA_FLOAT, i, random.nextFloat());
    }
    long epoch = exchange.sendDispatch(in, experts, weights, shape.tokens());
    ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
    MemorySegment output = arena.allocate(2L * rows.entries() * shape.hidden(), 64);
    for (int local = 0; local < rows.experts(); local++) {
      rows.gather(local, output, 2L * rows.firstEntry(local) * shape.hidden());
    }
    exchange.sendCombine(epoch, output);
    MemorySegment out = arena.allocate(2L * values, 64);
    exchange.receiveCombine(epoch, out);
    return out;
  }

  /** The smallest queue: each row is several requests, and completions come late. */
  @Test
  void aRoundDoesNotDependOnTheQueue() throws Exception {
    RdmaSettings settings = RdmaSettings.builder().queueDepth(2).chunkBytes(256).build();
    Ranks.run(
        2,
        group -> {
          ExchangeConfig config = config(new ExchangeShape(2, 100, 512, 4, 2), 3_000);
          try (Exchange exchange = Exchange.open(group, rdma(settings), config)) {
            accept(exchange, 4);
            group.allGather("end of test", new byte[0]);
          }
        });
  }

  @Test
  void severalQueuePairsCarryThePhases() throws Exception {
    RdmaSettings settings = RdmaSettings.builder().queuePairs(3).queueDepth(8).build();
    Ranks.run(
        3,
        group -> {
          ExchangeConfig config = config(new ExchangeShape(3, 20, 128, 9, 3), 1_000);
          try (Exchange exchange = Exchange.open(group, rdma(settings), config)) {
            accept(exchange, 20);
            assertThat(exchange.path((group.rank() + 1) % 3)).contains("3 queue pairs", "MTU 1024");
            group.allGather("end of test", new byte[0]);
          }
        });
  }

  /** A device that takes nothing inline reads a signal when it sends it. */
  @Test
  void signalsNeedNotBeInline() throws Exception {
    fabric.mostInline = 0;
    Ranks.run(
        2,
        group -> {
          ExchangeConfig config = config(new ExchangeShape(2, 20, 128, 9, 3), 1_000);
          try (Exchange exchange = Exchange.open(group, rdma(RdmaSettings.DEFAULTS), config)) {
            accept(exchange, 20);
            group.allGather("end of test", new byte[0]);
          }
        });
  }

  @Test
  void whatADeviceCannotDoIsSaidWhenOpening() throws Exception {
    fabric.atomics = AtomicCapability.NONE;
    for (SignalKind kind : new SignalKind[] {SignalKind.FETCH_AND_ADD, SignalKind.ATOMIC_WRITE}) {
      RdmaSettings settings = RdmaSettings.builder().signal(kind).build();
      Ranks.run(
          2,
          group ->
              assertThatThrownBy(
                      () ->
                          Exchange.open(
                              group, rdma(settings), config(new ExchangeShape(2, 1, 8, 2, 1), 1)))
                  .isInstanceOf(GroupException.class)
                  .hasMessageContaining("rank 0")
                  .hasMessageContaining("rank 1"));
    }
  }

  @Test
  void aFolderWithoutHugePagesIsRefused() throws Exception {
    RdmaSettings settings = RdmaSettings.builder().hugePages(folder.toString()).build();
    Ranks.run(
        1,
        group ->
            assertThatThrownBy(
                    () ->
                        Exchange.open(
                            group, rdma(settings), config(new ExchangeShape(1, 1, 8, 1, 1), 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("huge-pages is " + folder, "hugetlbfs"));
  }

  /** A peer's process ends in the middle of a round, and while others wait for it. */
  @Test
  void aPeerThatDiesIsNamed() throws Exception {
    Ranks.run(
        2,
        group -> {
          ExchangeConfig config = config(new ExchangeShape(2, 8, 64, 4, 2), 1_000);
          Exchange exchange = Exchange.open(group, rdma(RdmaSettings.DEFAULTS), config);
          accept(exchange, 3);
          group.allGather("alive", new byte[0]);
          if (group.rank() == 1) {
            fabric.killPairsOfThisThread();
          }
          group.allGather("dead", new byte[0]);
          if (group.rank() == 0) {
            assertThatThrownBy(() -> accept(exchange, 100))
                .isInstanceOfSatisfying(PeerException.class, e -> assertThat(e.peer()).isEqualTo(1))
                .hasMessageContaining("rank 0: dispatch receive of epoch 4")
                .hasMessageContaining("rank 1");
          }
          long start = System.nanoTime();
          exchange.close();
          assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(5));
          group.allGather("end of test", new byte[0]);
        });
  }

  /** A post that the device refuses ends the round with what was to be sent. */
  @Test
  void aRefusedPostFailsTheRound() throws Exception {
    Ranks.run(
        2,
        group -> {
          ExchangeConfig config = config(new ExchangeShape(2, 8, 64, 4, 2), 1_000);
          Exchange exchange = Exchange.open(group, rdma(RdmaSettings.DEFAULTS), config);
          accept(exchange, 3);
          group.allGather("alive", new byte[0]);
          if (group.rank() == 0) {
            fabric.refusedPost = 1;
            assertThatThrownBy(() -> accept(exchange, 1))
                .isInstanceOf(PeerException.class)
                .hasMessageContaining("ENOMEM");
          }
          group.allGather("refused", new byte[0]);
          exchange.close();
          group.allGather("end of test", new byte[0]);
        });
  }

  /** Completions that never come do not keep a rank from closing. */
  @Test
  void lostCompletionsDoNotKeepARankFromClosing() throws Exception {
    Ranks.run(
        2,
        group -> {
          ExchangeConfig config = config(new ExchangeShape(2, 8, 64, 4, 2), 1_000);
          Exchange exchange = Exchange.open(group, rdma(RdmaSettings.DEFAULTS), config);
          accept(exchange, 3);
          group.allGather("alive", new byte[0]);
          fabric.holdsCompletions = true;
          group.allGather("held", new byte[0]);
          long start = System.nanoTime();
          exchange.close();
          assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(7));
          group.allGather("end of test", new byte[0]);
        });
  }
}
