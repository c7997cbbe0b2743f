package org.verbena.moe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.verbena.acceptance.Ranks;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.ExchangeConfig.CombineOrder;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.rdma.FabricProvider;
import org.verbena.transport.rdma.RdmaSettings;
import org.verbena.transport.shm.ShmTransport;
import org.verbena.transport.sim.LateProvider;
import org.verbena.verbs.Fabric;

/** What an engine registers is sent from where it is, with the same results, on all transports. */
class RegisterTest {
  private static final ExchangeShape SHAPE = new ExchangeShape(4, 20, 264, 12, 4);
  private static final long ROW_BYTES = 2L * SHAPE.hidden();
  private static final long TOKEN_BYTES = ROW_BYTES * SHAPE.tokens();
  private static final long FINISHED_BYTES = TOKEN_BYTES * SHAPE.ranks();

  private final Fabric fabric = new Fabric(29);

  @TempDir Path folder;

  /** How ranks reach each other. */
  enum Kind {
    SHM,
    RDMA,
    MIXED,
    LATE;

    /** Whether a rank's rows are put straight to where they arrive. */
    boolean isDirect(int rank, int peer) {
      return switch (this) {
        case SHM -> true;
        case RDMA -> rank == peer;
        case MIXED -> rank / 2 == peer / 2;
        case LATE -> false;
      };
    }
  }

  @BeforeEach
  void makeHosts() throws Exception {
    Files.createDirectories(folder.resolve("host0"));
    Files.createDirectories(folder.resolve("host1"));
  }

  @AfterEach
  void close() {
    fabric.close();
  }

  private TransportProvider provider(Kind kind) {
    return switch (kind) {
      case SHM -> ShmTransport.provider(folder);
      case RDMA -> FabricProvider.rdma(fabric, RdmaSettings.DEFAULTS);
      case MIXED -> FabricProvider.mixed(fabric, RdmaSettings.DEFAULTS, folder, rank -> rank / 2);
      case LATE -> new LateProvider(31);
    };
  }

  private static ExchangeConfig.Builder config() {
    return ExchangeConfig.builder(SHAPE).chunkBytes(3_000).timeout(Duration.ofSeconds(30));
  }

  @ParameterizedTest
  @EnumSource
  void isNotCopied(Kind kind) throws Exception {
    run(kind, config());
  }

  @ParameterizedTest
  @EnumSource
  void rowsInAnyOrderAreNotCopied(Kind kind) throws Exception {
    run(kind, config().combineOrder(CombineOrder.ANY_ORDER));
  }

  @ParameterizedTest
  @EnumSource
  void theCompactLayoutSendsInPlaceToo(Kind kind) throws Exception {
    run(kind, config().compact(true));
  }

  private void run(Kind kind, ExchangeConfig.Builder builder) throws Exception {
    ExchangeConfig config = builder.build();
    TransportProvider provider = provider(kind);
    Ranks.run(
        SHAPE.ranks(),
        group -> {
          try (Arena arena = Arena.ofShared();
              Exchange exchange = Exchange.open(group, provider, config)) {
            MemorySegment memory = arena.allocate(TOKEN_BYTES + FINISHED_BYTES, 4096);
            Engine engine = new Engine(exchange, memory, arena);
            long copied = engine.rounds(kind);
            assertThat(engine.notCopied).isEqualTo(0);
            // Half of it alone is none of it: rows lie in registered memory as a whole.
            exchange.register(memory.asSlice(0, TOKEN_BYTES / 2));
            assertThat(engine.rounds(kind)).isEqualTo(copied);
            exchange.deregister(memory.asSlice(0, TOKEN_BYTES / 2));
            exchange.register(memory.asReadOnly());
            engine.registered = true;
            assertThat(engine.rounds(kind)).isEqualTo(copied - engine.notCopied);
            assertThat(engine.notCopied > 0).isEqualTo(kind != Kind.SHM);
            exchange.deregister(memory);
            engine.registered = false;
            assertThat(engine.rounds(kind)).isEqualTo(copied);
            group.allGather("end of test", new byte[0]);
          }
        });
  }

  /** Changes its tensors as soon as the rule allows it. */
  private static final class Engine {
    private static final int ROUNDS = 6;

    private final Exchange exchange;
    private final MemorySegment tokens;
    private final MemorySegment finished;
    private final MemorySegment experts;
    private final MemorySegment weights;
    private boolean registered;

    /** Bytes of rows that were not copied in the last rounds. */
    private long notCopied;

    Engine(Exchange exchange, MemorySegment memory, Arena arena) {
      this.exchange = exchange;
      tokens = memory.asSlice(0, TOKEN_BYTES);
      finished = memory.asSlice(TOKEN_BYTES);
      int ids = SHAPE.tokens() * SHAPE.topk();
      experts = arena.allocate(4L * ids, 64);
      weights = arena.allocate(4L * ids, 64);
    }

    /** Runs the same rounds each time; returns how many bytes the exchange copied. */
    long rounds(Kind kind) {
      notCopied = 0;
      long before = exchange.counters().copiedBytes();
      for (int round = 0; round < ROUNDS; round++) {
        round(new Random(100L * exchange.rank() + round), kind);
      }
      return exchange.counters().copiedBytes() - before;
    }

    private void round(Random random, Kind kind) {
      int[] ranks = fill(random, kind);
      float[] values = new float[SHAPE.tokens() * SHAPE.hidden()];
      for (int i = 0; i < values.length; i++) {
        values[i] = Bf16.toFloat(tokens.getAtIndex(ValueLayout.JAVA_SHORT, i));
      }
      long epoch = exchange.sendDispatch(tokens, experts, weights, SHAPE.tokens());
      ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
      for (int row = 0; row < rows.rows(); row++) {
        MemorySegment.copy(rows.memory(), rows.offset(row), finished, row * ROW_BYTES, ROW_BYTES);
        if (!kind.isDirect(exchange.rank(), rows.source(row))) {
          notCopied += registered ? ROW_BYTES : 0;
        }
      }
      exchange.sendFinished(epoch, finished);
      exchange.receiveCombine(epoch, tokens);
      finished.fill((byte) 0x7f);
      for (int i = 0; i < values.length; i++) {
        // A sum of as many equal values as ranks is exact before it is rounded.
        short expected = Bf16.fromFloat(values[i] * ranks[i / SHAPE.hidden()]);
        assertThat(tokens.getAtIndex(ValueLayout.JAVA_SHORT, i)).isEqualTo(expected);
      }
      tokens.fill((byte) 0x7f);
    }

    /** Makes tokens and their experts; returns to how many ranks each token goes. */
    private int[] fill(Random random, Kind kind) {
      for (int i = 0; i < SHAPE.tokens() * SHAPE.hidden(); i++) {
        tokens.setAtIndex(ValueLayout.JAVA_SHORT, i, Bf16.fromFloat((float) random.nextGaussian()));
      }
      int[] ranks = new int[SHAPE.tokens()];
      for (int token = 0; token < SHAPE.tokens(); token++) {
        boolean[] goesTo = new boolean[SHAPE.ranks()];
        for (int k = 0; k < SHAPE.topk(); k++) {
          int expert = random.nextInt(-1, SHAPE.experts());
          experts.setAtIndex(ValueLayout.JAVA_INT, (long) token * SHAPE.topk() + k, expert);
          if (expert >= 0) {
            goesTo[expert / (SHAPE.experts() / SHAPE.ranks())] = true;
          }
        }
        for (int rank = 0; rank < SHAPE.ranks(); rank++) {
          ranks[token] += goesTo[rank] ? 1 : 0;
          if (registered && goesTo[rank] && !kind.isDirect(exchange.rank(), rank)) {
            notCopied += ROW_BYTES;
          }
        }
      }
      return ranks;
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatCannotBeRegisteredIsRefused(Kind kind) throws Exception {
    ExchangeConfig config = config().build();
    TransportProvider provider = provider(kind);
    Ranks.run(
        SHAPE.ranks(),
        group -> {
          try (Arena arena = Arena.ofShared()) {
            Exchange exchange = Exchange.open(group, provider, config);
            MemorySegment memory = arena.allocate(TOKEN_BYTES + FINISHED_BYTES, 4096);
            String rank = "rank " + group.rank();
            assertThatThrownBy(() -> exchange.register(MemorySegment.ofArray(new byte[64])))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll(rank, "register", "on the heap");
            assertThatThrownBy(() -> exchange.register(memory.asSlice(0, 0)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("needs 1");
            exchange.register(memory.asSlice(4096, 4096));
            assertThatThrownBy(() -> exchange.register(memory))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll(rank, "overlap the 4096");
            assertThatThrownBy(() -> exchange.deregister(memory))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll(rank, "nothing was registered");
            exchange.deregister(memory.asSlice(4096, 4096));
            refusesWhatWasClosed(exchange);
            refusesWhatIsInUse(exchange, memory, arena);
            group.allGather("end of test", new byte[0]);
            exchange.close();
            assertThatThrownBy(() -> exchange.register(memory))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is closed");
          }
        });
  }

  @SuppressWarnings("restricted") // stands for memory that was allocated anew
  private static void refusesWhatWasClosed(Exchange exchange) {
    MemorySegment closed;
    try (Arena arena = Arena.ofConfined()) {
      closed = arena.allocate(TOKEN_BYTES, 4096);
      exchange.register(closed);
    }
    assertThatThrownBy(() -> exchange.register(closed))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("is closed");
    // As if it had been allocated where the closed memory was; it is refused before it is touched.
    MemorySegment another = MemorySegment.ofAddress(closed.address()).reinterpret(TOKEN_BYTES);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment experts = arena.allocate(4L * SHAPE.topk(), 64);
      assertThatThrownBy(() -> exchange.sendDispatch(another, experts, experts, 1))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContainingAll("dispatch send", "was closed since", "deregister");
    }
    exchange.deregister(closed);
  }

  private static void refusesWhatIsInUse(Exchange exchange, MemorySegment memory, Arena arena) {
    exchange.register(memory);
    Engine engine = new Engine(exchange, memory, arena);
    long epoch = exchange.sendDispatch(engine.tokens, engine.experts, engine.weights, 2);
    assertThatThrownBy(() -> exchange.deregister(memory))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("the round sends from it");
    exchange.receiveDispatch(epoch, new ReceivedRows());
    exchange.sendFinished(epoch, engine.finished);
    exchange.receiveCombine(epoch, engine.tokens);
    exchange.deregister(memory);
  }
}
