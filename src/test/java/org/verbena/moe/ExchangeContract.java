package org.verbena.moe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.IntBinaryOperator;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.acceptance.Acceptance;
import org.verbena.acceptance.Acceptance.CombineWay;
import org.verbena.acceptance.Acceptance.PhaseListener;
import org.verbena.acceptance.Acceptance.PhaseOrder;
import org.verbena.acceptance.Ranks;
import org.verbena.bootstrap.Group;
import org.verbena.bootstrap.GroupException;
import org.verbena.layout.BufferLayout;
import org.verbena.layout.ExchangeShape;
import org.verbena.layout.LayoutOptions;
import org.verbena.layout.Region;
import org.verbena.moe.ExchangeConfig.CombineOrder;
import org.verbena.transport.PeerException;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.WaitInterruptedException;
import org.verbena.transport.WrappedProvider;

/** What an exchange must do over any transport. The tests of each transport extend this class. */
abstract class ExchangeContract {
  private static final ExchangeShape SMALL = new ExchangeShape(3, 4, 16, 6, 2);
  private static final PhaseListener IGNORE = (round, phase, nanos) -> {};

  /** Makes the transport under test. */
  abstract TransportProvider provider();

  /** One rank's part of a test. */
  @FunctionalInterface
  private interface Part {
    void run(Group group, Exchange exchange) throws Exception;
  }

  private void run(ExchangeConfig.Builder builder, Part part) throws Exception {
    ExchangeConfig config = builder.build();
    Ranks.run(
        config.shape().ranks(),
        group -> {
          try (Exchange exchange = Exchange.open(group, poisoned(config), config)) {
            part.run(group, exchange);
            group.allGather("end of test", new byte[0]);
          }
        });
  }

  private static ExchangeConfig.Builder config(ExchangeShape shape) {
    return ExchangeConfig.builder(shape).timeout(Duration.ofSeconds(60));
  }

  /** The provider under test, with NaN in all memory where rows and entries arrive. */
  private TransportProvider poisoned(ExchangeConfig config) {
    TransportProvider provider = provider();
    return new WrappedProvider(
        provider,
        (group, transport) -> {
          LayoutOptions.Kind kind =
              provider.isDirect() ? LayoutOptions.Kind.SHARED : LayoutOptions.Kind.RDMA;
          LayoutOptions options =
              LayoutOptions.of(kind).withHalves(config.halves()).withCompact(config.compact());
          for (Region region : new BufferLayout(config.shape(), options).regions()) {
            if (!region.name().contains("count")
                && !region.name().contains("progress")
                && !region.name().contains("flag")) {
              transport.window().asSlice(region.offset(), region.bytes()).fill((byte) 0xff);
            }
          }
          group.allGather("poisoned", new byte[0]);
          return transport;
        });
  }

  private void accept(
      ExchangeConfig.Builder config,
      IntBinaryOperator tokens,
      int rounds,
      PhaseOrder order,
      CombineWay way)
      throws Exception {
    for (boolean scaled : new boolean[] {false, true}) {
      run(
          config,
          (group, exchange) -> {
            try (Acceptance acceptance = new Acceptance(exchange, tokens, scaled, 7)) {
              acceptance.run(rounds, order, way, IGNORE);
            }
          });
    }
  }

  @ParameterizedTest
  @CsvSource({
    // R, T, H, E, K
    "1, 1, 8, 1, 1",
    "1, 16, 256, 10, 3",
    "2, 1, 256, 2, 1",
    "2, 128, 256, 288, 8",
    "3, 8, 1000, 10, 10",
    "4, 16, 2048, 288, 8",
    "2, 256, 8, 512, 2",
    "2, 257, 8, 513, 2",
    "4, 6, 16, 10, 2",
    "4, 5, 264, 3, 2",
    "4, 12, 8, 4, 4",
    "4, 9, 24, 1, 1",
    "5, 20, 128, 7, 3"
  })
  void isAccepted(int ranks, int tokens, int hidden, int experts, int topk) throws Exception {
    ExchangeShape shape = new ExchangeShape(ranks, tokens, hidden, experts, topk);
    accept(
        config(shape), (rank, input) -> tokens, 4, PhaseOrder.SEQUENTIAL, CombineWay.HANDED_OVER);
  }

  @Test
  void isAcceptedInTheFullShape() throws Exception {
    ExchangeShape shape = new ExchangeShape(2, 128, 7168, 288, 8);
    run(
        config(shape),
        (group, exchange) -> {
          try (Acceptance acceptance =
              new Acceptance(exchange, (rank, input) -> 128 - input, false, 3)) {
            acceptance.run(3, PhaseOrder.SEQUENTIAL, CombineWay.HANDED_OVER, IGNORE);
          }
        });
  }

  @ParameterizedTest
  @CsvSource({"IN_ORDER, IN_PLACE", "ANY_ORDER, HANDED_OVER", "ANY_ORDER, IN_PLACE_BACKWARDS"})
  void isAcceptedInEveryWayToCombine(CombineOrder order, CombineWay way) throws Exception {
    ExchangeShape shape = new ExchangeShape(3, 20, 264, 12, 4);
    accept(
        config(shape).combineOrder(order).chunkBytes(2_000),
        (rank, input) -> 20 - rank * input,
        6,
        PhaseOrder.SEQUENTIAL,
        way);
  }

  @ParameterizedTest
  @EnumSource(CombineOrder.class)
  void ranksMayOrderTheirPhasesDifferently(CombineOrder combineOrder) throws Exception {
    ExchangeShape shape = new ExchangeShape(3, 16, 128, 9, 3);
    run(
        config(shape).combineOrder(combineOrder),
        (group, exchange) -> {
          IntBinaryOperator tokens = (rank, input) -> rank == 1 ? 0 : 16 - input;
          try (Acceptance acceptance = new Acceptance(exchange, tokens, true, 11)) {
            PhaseOrder[] orders = PhaseOrder.values();
            for (int shift = 0; shift < orders.length; shift++) {
              PhaseOrder order = orders[(group.rank() + shift) % orders.length];
              acceptance.run(8, order, CombineWay.HANDED_OVER, IGNORE);
            }
          }
        });
  }

  @Test
  void countsMayDifferPerRankAndRound() throws Exception {
    ExchangeShape shape = new ExchangeShape(4, 7, 64, 5, 2);
    accept(
        config(shape),
        (rank, input) -> input == 0 ? new int[] {0, 1, 7, 7}[rank] : rank == 2 ? 7 : 0,
        8,
        PhaseOrder.COMBINE_BEHIND,
        CombineWay.HANDED_OVER);
  }

  /** Rounds so many that a row shown before it is whole would be seen; only one rank has any. */
  @ParameterizedTest
  @EnumSource(CombineOrder.class)
  void rowsAreWholeInManyRounds(CombineOrder order) throws Exception {
    ExchangeShape shape = new ExchangeShape(2, 8, 512, 4, 2);
    run(
        config(shape).combineOrder(order),
        (group, exchange) -> {
          IntBinaryOperator tokens = (rank, input) -> rank == 0 ? 8 - input : 0;
          try (Acceptance acceptance = new Acceptance(exchange, tokens, false, 13)) {
            acceptance.run(1_000, PhaseOrder.DISPATCH_AHEAD, CombineWay.HANDED_OVER, IGNORE);
          }
        });
  }

  @Test
  void oneHalfCarriesOneRoundAtATime() throws Exception {
    accept(
        config(SMALL).halves(1),
        (rank, input) -> 4 - input,
        6,
        PhaseOrder.SEQUENTIAL,
        CombineWay.HANDED_OVER);
  }

  @Test
  void theCompactLayoutGivesTheSame() throws Exception {
    accept(
        config(SMALL).compact(true),
        (rank, input) -> 4 - input,
        6,
        PhaseOrder.DISPATCH_AHEAD,
        CombineWay.HANDED_OVER);
  }

  @ParameterizedTest
  @EnumSource(CombineOrder.class)
  void epochsPassTheirLimitsUnharmed(CombineOrder order) throws Exception {
    long[] limits = {1L << 30, 1L << 31, 1L << 32, 3L << 30};
    for (long limit : limits) {
      accept(
          config(SMALL).combineOrder(order).firstEpoch(limit - 3),
          (rank, input) -> 3 + input,
          7,
          PhaseOrder.DISPATCH_AHEAD,
          CombineWay.HANDED_OVER);
    }
  }

  @Test
  void expertsAreWhereATableSays() throws Exception {
    int[] owners = {2, 2, 0, 2, 0, 2};
    run(
        config(SMALL).placement(ExpertPlacement.table(owners, 3)),
        (group, exchange) -> {
          try (Acceptance acceptance =
              new Acceptance(exchange, owners, (rank, input) -> 4, true, 7)) {
            acceptance.run(4, PhaseOrder.SEQUENTIAL, CombineWay.HANDED_OVER, IGNORE);
          }
        });
  }

  @Test
  void severalExchangesShareAGroup() throws Exception {
    ExchangeShape large = new ExchangeShape(3, 32, 64, 6, 2);
    Ranks.run(
        3,
        group -> {
          try (Exchange prefill = Exchange.open(group, provider(), config(large).build());
              Exchange decode = Exchange.open(group, provider(), config(SMALL).build());
              Acceptance first = new Acceptance(prefill, (rank, input) -> 32, true, 1);
              Acceptance second = new Acceptance(decode, (rank, input) -> 4, true, 2)) {
            for (int i = 0; i < 5; i++) {
              first.run(2, PhaseOrder.DISPATCH_AHEAD, CombineWay.HANDED_OVER, IGNORE);
              second.run(3, PhaseOrder.SEQUENTIAL, CombineWay.IN_PLACE, IGNORE);
            }
            group.allGather("end of test", new byte[0]);
          }
        });
  }

  /** Words and memory belong to an exchange: another one of the same shape has its own. */
  @Test
  void exchangesOfOneShapeDoNotMeet() throws Exception {
    Ranks.run(
        3,
        group -> {
          try (Exchange one = Exchange.open(group, provider(), config(SMALL).build());
              Exchange two = Exchange.open(group, provider(), config(SMALL).build());
              Arena arena = Arena.ofConfined()) {
            Tokens ones = Tokens.of(arena, 0, 5);
            Tokens twos = Tokens.of(arena, 0, 5);
            twos.tokens.fill((byte) 0x40); // 0x4040 is 3.
            for (int round = 0; round < 50; round++) {
              long first = ones.send(one, 1);
              if (round % 2 == 1) {
                finish(one, first, arena);
              }
              long second = twos.send(two, 1);
              ReceivedRows rows = two.receiveDispatch(second, new ReceivedRows());
              combine(two, rows, arena);
              if (round % 2 == 0) {
                rows = one.receiveDispatch(first, new ReceivedRows());
                combine(one, rows, arena);
                assertThat(results(one, first, 1, arena)).containsExactly(2f);
              }
              assertThat(results(two, second, 1, arena)).containsExactly(6f);
            }
            group.allGather("end of test", new byte[0]);
          }
        });
  }

  @Test
  void countsFollowEachRoundsTokens() throws Exception {
    run(
        config(SMALL),
        (group, exchange) -> {
          try (Arena arena = Arena.ofConfined()) {
            Tokens in = Tokens.of(arena, 0, 5, 1, 4, 0, 4, 1, 5);
            for (int n : new int[] {1, 4, 3, 0, 4}) {
              long epoch = in.send(exchange, n);
              ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
              for (int source = 0; source < 3; source++) {
                assertThat(rows.rows(source)).isEqualTo(group.rank() == 1 ? 0 : n);
              }
              combine(exchange, rows, arena);
              assertThat(results(exchange, epoch, n, arena)).hasSize(n).doesNotContain(0f);
            }
          }
        });
  }

  @Test
  void allRowsMayGoToOneExpert() throws Exception {
    run(
        config(SMALL),
        (group, exchange) -> {
          try (Arena arena = Arena.ofConfined()) {
            long epoch = Tokens.of(arena, 0, -1, 0, -1, -1, 0, -1, 0).send(exchange, 4);
            ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
            assertThat(rows.rows()).isEqualTo(group.rank() == 0 ? 12 : 0);
            for (int row = 0; row < rows.rows(); row++) {
              assertThat(rows.source(row)).isEqualTo(row / 4);
              assertThat(rows.token(row)).isEqualTo(row % 4);
            }
            if (group.rank() == 0) {
              assertThat(rows.entries(0)).isEqualTo(12);
              assertThat(rows.entries(1)).isZero();
            }
            combine(exchange, rows, arena);
            assertThat(results(exchange, epoch, 4, arena)).containsExactly(0.5f, 2.5f, 5.5f, 7.5f);
          }
        });
  }

  @Test
  void aNanStaysInItsOwnToken() throws Exception {
    run(
        config(SMALL),
        (group, exchange) -> {
          try (Arena arena = Arena.ofConfined()) {
            Tokens in = Tokens.of(arena, 0, 5, 0, 5, 0, 5);
            in.tokens.setAtIndex(ValueLayout.JAVA_SHORT, SMALL.hidden(), (short) 0xffc1);
            long epoch = in.send(exchange, 3);
            combine(exchange, exchange.receiveDispatch(epoch, new ReceivedRows()), arena);
            assertThat(results(exchange, epoch, 3, arena)).containsExactly(2f, Float.NaN, 10f);
          }
        });
  }

  /** Nothing is cleared between rounds, so what a fast rank sends can't be lost on a slow one. */
  @Test
  void ranksMayStartLate() throws Exception {
    Ranks.run(
        3,
        group -> {
          // The length of the delay, and no wait for anything.
          TimeUnit.MILLISECONDS.sleep(400L * group.rank());
          ExchangeConfig config = config(SMALL).timeout(Duration.ofSeconds(10)).build();
          try (Exchange exchange = Exchange.open(group, provider(), config);
              Arena arena = Arena.ofConfined()) {
            Tokens in = Tokens.of(arena, 0, 5);
            if (group.rank() == 2) {
              group.allGather("the others sent two rounds", new byte[0]);
              TimeUnit.MILLISECONDS.sleep(400);
            }
            long first = in.send(exchange, 1);
            long second = in.send(exchange, 1);
            if (group.rank() != 2) {
              group.allGather("the others sent two rounds", new byte[0]);
            }
            ReceivedRows rows = exchange.receiveDispatch(first, new ReceivedRows());
            combine(exchange, rows, arena);
            assertThat(results(exchange, first, 1, arena)).containsExactly(2f);
            combine(exchange, exchange.receiveDispatch(second, rows), arena);
            assertThat(results(exchange, second, 1, arena)).containsExactly(2f);
            group.allGather("end of test", new byte[0]);
          }
        });
  }

  /** A disagreement is told on every rank, before anything else happens. */
  @Test
  void ranksMustAgree() throws Exception {
    disagree(
        builder -> builder.placement(ExpertPlacement.table(new int[] {0, 1, 2, 0, 1, 2}, 3)),
        "placement");
    disagree(builder -> builder.halves(1), "halves");
    disagree(builder -> builder.combineOrder(CombineOrder.ANY_ORDER), "combine order");
    Ranks.run(
        2,
        group -> {
          int tokens = group.rank() == 1 ? 64 : 128;
          ExchangeConfig config = config(new ExchangeShape(2, tokens, 8, 2, 1)).build();
          assertThatThrownBy(() -> Exchange.open(group, provider(), config))
              .isInstanceOf(GroupException.class)
              .hasMessageContaining("tokens is 128 on rank 0, 64 on rank 1");
        });
  }

  private void disagree(UnaryOperator<ExchangeConfig.Builder> change, String field)
      throws Exception {
    Ranks.run(
        3,
        group -> {
          ExchangeConfig.Builder builder = config(SMALL);
          ExchangeConfig config = (group.rank() == 2 ? change.apply(builder) : builder).build();
          assertThatThrownBy(() -> Exchange.open(group, provider(), config))
              .isInstanceOf(GroupException.class)
              .hasMessageContaining(field)
              .hasMessageContaining("on rank 2");
        });
  }

  /** The segments of one rank in the small shape. */
  private record Tokens(MemorySegment tokens, MemorySegment experts, MemorySegment weights) {
    static Tokens of(Arena arena, int... experts) {
      int n = experts.length / SMALL.topk();
      MemorySegment tokens = arena.allocate(2L * n * SMALL.hidden() + 2, 64);
      MemorySegment ids = arena.allocate(4L * experts.length + 4, 64);
      MemorySegment weights = arena.allocate(4L * experts.length + 4, 64);
      for (int i = 0; i < experts.length; i++) {
        ids.setAtIndex(ValueLayout.JAVA_INT, i, experts[i]);
        weights.setAtIndex(ValueLayout.JAVA_FLOAT, i, 0.5f + i);
      }
      for (int i = 0; i < n * SMALL.hidden(); i++) {
        tokens.setAtIndex(ValueLayout.JAVA_SHORT, i, Bf16.fromFloat(1));
      }
      return new Tokens(tokens, ids, weights);
    }

    long send(Exchange exchange, int n) {
      return exchange.sendDispatch(tokens, experts, weights, n);
    }
  }

  private static void finish(Exchange exchange, long epoch, Arena arena) {
    ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
    combine(exchange, rows, arena);
    exchange.receiveCombine(epoch, arena.allocate(2L * 4 * SMALL.hidden(), 64));
  }

  private static void combine(Exchange exchange, ReceivedRows rows, Arena arena) {
    MemorySegment output = arena.allocate(2L * rows.entries() * SMALL.hidden() + 2, 64);
    for (int local = 0; local < rows.experts(); local++) {
      rows.gather(local, output, 2L * rows.firstEntry(local) * SMALL.hidden());
    }
    exchange.sendCombine(rows.epoch(), output);
  }

  private static float[] results(Exchange exchange, long epoch, int n, Arena arena) {
    MemorySegment out = arena.allocate(2L * 4 * SMALL.hidden(), 64);
    exchange.receiveCombine(epoch, out);
    float[] first = new float[n];
    for (int token = 0; token < n; token++) {
      first[token] =
          Bf16.toFloat(out.getAtIndex(ValueLayout.JAVA_SHORT, (long) token * SMALL.hidden()));
    }
    return first;
  }

  @Test
  void entriesOfNoneAreSkippedAndAllOfThemGiveZeros() throws Exception {
    run(
        config(SMALL),
        (group, exchange) -> {
          try (Arena arena = Arena.ofConfined()) {
            Tokens in = Tokens.of(arena, -1, -1, 0, -1, -1, 5);
            in.weights.setAtIndex(ValueLayout.JAVA_FLOAT, 0, Float.NaN);
            in.weights.setAtIndex(ValueLayout.JAVA_FLOAT, 3, Float.NaN);
            in.tokens.setAtIndex(ValueLayout.JAVA_SHORT, 0, (short) 0x7fc0);
            long epoch = in.send(exchange, 3);
            ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
            assertThat(rows.rows()).isEqualTo(new int[] {3, 0, 3}[group.rank()]);
            combine(exchange, rows, arena);
            assertThat(results(exchange, epoch, 3, arena)).containsExactly(0, 2.5f, 5.5f);
          }
        });
  }

  @Test
  void anExpertNamedTwiceCountsTwiceAndItsRowTravelsOnce() throws Exception {
    run(
        config(SMALL),
        (group, exchange) -> {
          try (Arena arena = Arena.ofConfined()) {
            long epoch = Tokens.of(arena, 3, 3).send(exchange, 1);
            ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
            if (group.rank() == 1) {
              assertThat(rows.rows()).isEqualTo(3);
              assertThat(rows.entries()).isEqualTo(6);
              assertThat(rows.entries(1)).isEqualTo(6);
              assertThat(rows.entriesOfRow(2)).isEqualTo(2);
              assertThat(rows.entryWeight(rows.entryOfRow(2, 1))).isEqualTo(1.5f);
            }
            combine(exchange, rows, arena);
            assertThat(results(exchange, epoch, 1, arena)).containsExactly(2f);
          }
        });
  }

  @Test
  void badInputIsRefusedAndTheExchangeStaysUsable() throws Exception {
    run(
        config(SMALL),
        (group, exchange) -> {
          try (Arena arena = Arena.ofConfined()) {
            Tokens good = Tokens.of(arena, 0, 5, 1, 2);
            refused(() -> good.send(exchange, 5), "5 tokens", "0 to 4");
            refused(() -> good.send(exchange, -1), "-1 tokens");
            refused(
                () -> Tokens.of(arena, 0, 6).send(exchange, 1), "expert 6", "token 0", "0 to 5");
            refused(() -> Tokens.of(arena, 0, -2).send(exchange, 1), "expert -2", "place 1");
            refused(() -> good.send(exchange, 4), "tokens has 66 bytes, needs 128");
            MemorySegment heap = MemorySegment.ofArray(new short[200]);
            refused(
                () -> exchange.sendDispatch(heap, good.experts, good.weights, 1),
                "tokens is on the heap");
            MemorySegment odd = good.tokens.asSlice(1);
            refused(
                () -> exchange.sendDispatch(odd, good.experts, good.weights, 1),
                "tokens is at address",
                "multiple of 2");
            MemorySegment crooked = good.weights.asSlice(2);
            refused(
                () -> exchange.sendDispatch(good.tokens, good.experts, crooked, 1),
                "weights is at address",
                "multiple of 4");
            MemorySegment dead = deadSegment();
            refused(
                () -> exchange.sendDispatch(good.tokens, dead, good.weights, 1),
                "expert ids is closed");

            long epoch = good.send(exchange, 2);
            assertThat(epoch).isEqualTo(1);
            ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
            MemorySegment small = arena.allocate(2L * rows.entries() * SMALL.hidden() - 2, 64);
            refused(() -> exchange.sendCombine(1, small), "expert output has");
            combine(exchange, rows, arena);
            MemorySegment readOnly = arena.allocate(1024, 64).asReadOnly();
            refused(() -> exchange.receiveCombine(1, readOnly), "results is read-only");
            assertThat(results(exchange, 1, 2, arena)).hasSize(2);
            finish(exchange, good.send(exchange, 1), arena);
          }
        });
  }

  private static MemorySegment deadSegment() {
    try (Arena arena = Arena.ofConfined()) {
      return arena.allocate(64, 64);
    }
  }

  private static void refused(Runnable call, String... parts) {
    assertThatThrownBy(call::run)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("rank ")
        .hasMessageContainingAll(parts);
  }

  @Test
  void callsOutOfOrderThrowAndChangeNothing() throws Exception {
    run(
        config(SMALL),
        (group, exchange) -> {
          try (Arena arena = Arena.ofConfined()) {
            Tokens in = Tokens.of(arena, 0, 5);
            ReceivedRows rows = new ReceivedRows();
            MemorySegment out = arena.allocate(1024, 64);
            outOfOrder(() -> exchange.receiveDispatch(1, rows), "not in flight");
            long first = in.send(exchange, 1);
            outOfOrder(() -> exchange.sendCombine(first, out), "DISPATCH_SENT");
            outOfOrder(() -> exchange.receiveCombine(first, out), "DISPATCH_SENT");
            long second = in.send(exchange, 1);
            outOfOrder(() -> in.send(exchange, 1), "epoch 1 is not over");
            outOfOrder(
                () -> exchange.receiveDispatch(second, rows), "send the combine of epoch 1 first");
            exchange.receiveDispatch(first, rows);
            outOfOrder(() -> exchange.receiveDispatch(first, rows), "DISPATCH_RECEIVED");
            outOfOrder(
                () -> exchange.receiveDispatch(second, rows), "send the combine of epoch 1 first");
            outOfOrder(() -> exchange.finishCombine(first), "DISPATCH_RECEIVED");
            combine(exchange, rows, arena);
            outOfOrder(() -> exchange.sendCombine(first, out), "COMBINE_SENT");
            exchange.receiveDispatch(second, rows);
            combine(exchange, rows, arena);
            outOfOrder(() -> in.send(exchange, 1), "epoch 1 is not over");
            exchange.receiveCombine(second, out);
            exchange.receiveCombine(first, out);
            outOfOrder(() -> exchange.receiveCombine(first, out), "not in flight");
            finish(exchange, in.send(exchange, 1), arena);
          }
        });
  }

  @Test
  void withOneHalfASecondRoundIsRefused() throws Exception {
    run(
        config(SMALL).halves(1),
        (group, exchange) -> {
          try (Arena arena = Arena.ofConfined()) {
            Tokens in = Tokens.of(arena, 0, 5);
            long epoch = in.send(exchange, 1);
            outOfOrder(() -> in.send(exchange, 1), "epoch 1 is not over");
            finish(exchange, epoch, arena);
            finish(exchange, in.send(exchange, 1), arena);
          }
        });
  }

  private static void outOfOrder(Runnable call, String part) {
    assertThatThrownBy(call::run)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("rank ")
        .hasMessageContaining(part);
  }

  @Test
  void readinessTurnsTrueWithoutWaiting() throws Exception {
    run(
        config(SMALL),
        (group, exchange) -> {
          try (Arena arena = Arena.ofConfined()) {
            Tokens in = Tokens.of(arena, 0, 5);
            if (group.rank() == 2) {
              group.allGather("rank 2 has not sent", new byte[0]);
              group.allGather("the others have looked", new byte[0]);
            }
            long epoch = in.send(exchange, 1);
            if (group.rank() != 2) {
              group.allGather("rank 2 has not sent", new byte[0]);
              assertThat(exchange.isDispatchReady(epoch)).isFalse();
              group.allGather("the others have looked", new byte[0]);
            }
            until(() -> exchange.isDispatchReady(epoch));
            ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
            combine(exchange, rows, arena);
            until(() -> exchange.isCombineReady(epoch));
            assertThat(results(exchange, epoch, 1, arena)).hasSize(1);
          }
        });
  }

  private static void until(BooleanSupplier condition) {
    long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).isLessThan(deadline);
      Thread.onSpinWait();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void rowsOfAPassedRoundThrow(boolean guarded) throws Exception {
    run(
        config(SMALL).guardedViews(guarded),
        (group, exchange) -> {
          try (Arena arena = Arena.ofConfined()) {
            Tokens in = Tokens.of(arena, 0, 5, 1, 3);
            ReceivedRows rows = new ReceivedRows();
            outOfOrderRows(rows::rows);
            long first = in.send(exchange, 2);
            exchange.receiveDispatch(first, rows);
            MemorySegment memory = rows.memory();
            assertThat(memory.isReadOnly()).isTrue();
            OutgoingRows outgoing = exchange.beginCombine(first, new OutgoingRows());
            assertThat(rows.rows(0)).isEqualTo(group.rank() == 1 ? 1 : rows.rows(0));
            MemorySegment target = outgoing.memory(0);
            exchange.finishCombine(first);

            outOfOrderRows(rows::rows);
            outOfOrderRows(() -> rows.copyRow(0, arena.allocate(64), 0));
            outOfOrderRows(() -> outgoing.offset(0));
            if (guarded) {
              outOfOrderRows(() -> memory.get(ValueLayout.JAVA_SHORT, 0));
              outOfOrderRows(() -> target.set(ValueLayout.JAVA_SHORT, 0, (short) 0));
            }
            exchange.receiveCombine(first, arena.allocate(1024, 64));
            finish(exchange, in.send(exchange, 1), arena);
            long third = in.send(exchange, 1);
            exchange.receiveDispatch(third, new ReceivedRows());
            // The same half carries rows again, but not for the holder of the earlier ones.
            outOfOrderRows(rows::rows);
          }
        });
  }

  private static void outOfOrderRows(Runnable use) {
    assertThatThrownBy(use::run).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void inputsMayBeChangedOnceSent() throws Exception {
    run(
        config(SMALL),
        (group, exchange) -> {
          try (Arena arena = Arena.ofConfined()) {
            Tokens in = Tokens.of(arena, 0, 5);
            long epoch = in.send(exchange, 1);
            in.tokens.fill((byte) 0x55);
            in.experts.fill((byte) 0x55);
            in.weights.fill((byte) 0x55);
            ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
            combine(exchange, rows, arena);
            assertThat(results(exchange, epoch, 1, arena)).containsExactly(2f);
          }
        });
  }

  @Test
  void aMessageIsCopiedOnce() throws Exception {
    run(
        config(SMALL),
        (group, exchange) -> {
          try (Arena arena = Arena.ofConfined()) {
            // Two of the four entries are of the same rank: three messages.
            long epoch = Tokens.of(arena, 0, 1, 2, 4).send(exchange, 2);
            Counters counters = exchange.counters();
            long message = 2L * SMALL.hidden() + Integer.BYTES;
            assertThat(counters.dispatchedRows()).isEqualTo(3);
            assertThat(counters.copiedBytes())
                .isEqualTo(3 * message + 4L * BufferLayout.ENTRY_BYTES);
            assertThat(counters.signals()).isEqualTo(3);
            ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());
            int received = rows.rows();
            long before = counters.copiedBytes();
            combine(exchange, rows, arena);
            assertThat(counters.combinedRows()).isEqualTo(received);
            assertThat(counters.copiedBytes() - before).isEqualTo(2L * received * SMALL.hidden());
            assertThat(counters.signals()).isEqualTo(6);
            assertThat(results(exchange, epoch, 2, arena)).hasSize(2);
          }
        });
  }

  @Test
  void aRankThatClosedIsNamedAndIsNoDeath() throws Exception {
    ExchangeConfig config = config(SMALL).build();
    Ranks.run(
        3,
        group -> {
          Exchange exchange = Exchange.open(group, provider(), config);
          try (Arena arena = Arena.ofConfined()) {
            Tokens in = Tokens.of(arena, 0, 5);
            finish(exchange, in.send(exchange, 1), arena);
            if (group.rank() == 1) {
              exchange.close();
            } else {
              long epoch = in.send(exchange, 1);
              assertThatThrownBy(() -> exchange.receiveDispatch(epoch, new ReceivedRows()))
                  .isInstanceOfSatisfying(
                      PeerException.class, e -> assertThat(e.peer()).isEqualTo(1))
                  .hasMessageContaining("dispatch receive of epoch 2");
              assertThatThrownBy(() -> in.send(exchange, 1))
                  .isInstanceOf(IllegalStateException.class)
                  .hasMessageContaining("has failed")
                  .hasCauseInstanceOf(PeerException.class);
              exchange.close();
            }
            assertThatThrownBy(() -> in.send(exchange, 1))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is closed");
            group.allGather("end of test", new byte[0]);
          }
        });
  }

  @Test
  void aRankThatDoesNotComeIsGivenUpAtTheDeadline() throws Exception {
    run(
        config(SMALL).timeout(Duration.ofMillis(500)),
        (group, exchange) -> {
          if (group.rank() == 0) {
            try (Arena arena = Arena.ofConfined()) {
              long epoch = Tokens.of(arena, 0, 5).send(exchange, 1);
              assertThatThrownBy(() -> exchange.receiveDispatch(epoch, new ReceivedRows()))
                  .isInstanceOf(PeerException.class)
                  .hasMessageContaining("rank 0: dispatch receive of epoch 1, waiting for rank 1")
                  .hasMessageContaining("nothing came within 0.");
            }
          }
          group.allGather("waited", new byte[0]);
        });
  }

  @Test
  void anInterruptedCallCanBeRepeated() throws Exception {
    run(
        config(SMALL),
        (group, exchange) -> {
          try (Arena arena = Arena.ofConfined()) {
            Tokens in = Tokens.of(arena, 0, 5);
            if (group.rank() != 0) {
              group.allGather("rank 0 was interrupted", new byte[0]);
            }
            long epoch = in.send(exchange, 1);
            if (group.rank() == 0) {
              Thread.currentThread().interrupt();
              assertThatThrownBy(() -> exchange.receiveDispatch(epoch, new ReceivedRows()))
                  .isInstanceOf(WaitInterruptedException.class);
              assertThat(Thread.interrupted()).isTrue();
              group.allGather("rank 0 was interrupted", new byte[0]);
            }
            finish(exchange, epoch, arena);
          }
        });
  }

  @Test
  void aSecondThreadAtTheSameTimeIsRefused() throws Exception {
    run(
        config(SMALL),
        (group, exchange) -> {
          if (group.rank() == 0) {
            try (Arena arena = Arena.ofShared()) {
              long epoch = Tokens.of(arena, 0, 5).send(exchange, 1);
              FutureTask<ReceivedRows> call =
                  new FutureTask<>(() -> receiveOnceAlone(exchange, epoch));
              Thread waiting = Thread.ofPlatform().start(call);
              until(() -> isRefused(exchange, epoch));
              assertThatThrownBy(exchange::close)
                  .isInstanceOf(IllegalStateException.class)
                  .hasMessageContaining("another thread");
              waiting.interrupt();
              assertThatThrownBy(() -> call.get(30, TimeUnit.SECONDS))
                  .hasCauseInstanceOf(WaitInterruptedException.class);
            }
          }
          group.allGather("tried", new byte[0]);
        });
  }

  /** The thread that looks may be the first, and this one the second. */
  private static ReceivedRows receiveOnceAlone(Exchange exchange, long epoch) {
    while (true) {
      try {
        return exchange.receiveDispatch(epoch, new ReceivedRows());
      } catch (IllegalStateException e) {
        assertThat(e).hasMessageContaining("another thread");
      }
    }
  }

  private static boolean isRefused(Exchange exchange, long epoch) {
    try {
      assertThat(exchange.isDispatchReady(epoch)).isFalse();
      return false;
    } catch (IllegalStateException e) {
      assertThat(e).hasMessageContaining("another thread");
      return true;
    }
  }

  @Test
  void aConfigurationThatDoesNotFitIsRefused() {
    assertThatThrownBy(() -> config(SMALL).placement(ExpertPlacement.contiguous(7, 3)).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("7 experts on 3 ranks")
        .hasMessageContaining("6 experts and 3 ranks");
    ExchangeShape huge = new ExchangeShape(1024, 1 << 20, 8, 8, 8);
    assertThatThrownBy(() -> config(huge).build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("1048576 tokens");
  }
}
