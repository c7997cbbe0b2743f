package org.verbena.moe;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.verbena.acceptance.Allocations;
import org.verbena.acceptance.Ranks;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.ExchangeConfig.CombineOrder;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.rdma.FabricProvider;
import org.verbena.transport.rdma.RdmaSettings;
import org.verbena.transport.shm.ShmTransport;
import org.verbena.verbs.Fabric;

/** A steady round allocates nothing on the Java heap, in any thread that takes part in it. */
class AllocationTest {
  private static final ExchangeShape SHAPE = new ExchangeShape(2, 8, 256, 6, 3);

  @TempDir Path directory;

  @ParameterizedTest
  @EnumSource(CombineOrder.class)
  void aSteadyRoundAllocatesNothing(CombineOrder order) throws Exception {
    rounds(ShmTransport.provider(directory), order);
  }

  @ParameterizedTest
  @EnumSource(CombineOrder.class)
  void norDoesOneOverRdma(CombineOrder order) throws Exception {
    try (Fabric fabric = new Fabric(37)) {
      rounds(FabricProvider.rdma(fabric, RdmaSettings.DEFAULTS), order);
    }
  }

  /** Runs rounds of all kinds until they allocate nothing. */
  static void rounds(TransportProvider provider, CombineOrder order) throws Exception {
    ExchangeConfig config =
        ExchangeConfig.builder(SHAPE).combineOrder(order).guardedViews(false).build();
    Ranks.run(
        SHAPE.ranks(),
        group -> {
          try (Arena arena = Arena.ofShared();
              Exchange exchange = Exchange.open(group, provider, config)) {
            Engine engine = new Engine(exchange, arena);
            Allocations.untilSteady(group, engine::handedOver);
            Allocations.untilSteady(group, engine::inPlace);
            exchange.register(engine.tokens);
            exchange.register(engine.output);
            Allocations.untilSteady(group, engine::finished);
          }
        });
  }

  /** What an engine does in a round, with memory that it made before. */
  private static final class Engine {
    private final Exchange exchange;
    private final ReceivedRows rows = new ReceivedRows();
    private final OutgoingRows outgoing = new OutgoingRows();
    private final MemorySegment tokens;
    private final MemorySegment experts;
    private final MemorySegment weights;
    private final MemorySegment output;

    Engine(Exchange exchange, Arena arena) {
      this.exchange = exchange;
      int ids = SHAPE.tokens() * SHAPE.topk();
      tokens = arena.allocate(2L * SHAPE.tokens() * SHAPE.hidden(), 64);
      experts = arena.allocate(4L * ids, 64);
      weights = arena.allocate(4L * ids, 64);
      output = arena.allocate(2L * SHAPE.ranks() * ids * SHAPE.hidden(), 64);
      for (int i = 0; i < ids; i++) {
        experts.setAtIndex(ValueLayout.JAVA_INT, i, i % SHAPE.experts());
        weights.setAtIndex(ValueLayout.JAVA_FLOAT, i, 1);
      }
    }

    void handedOver(long round) {
      long epoch = dispatch(round);
      for (int local = 0; local < rows.experts(); local++) {
        rows.gather(local, output, 2L * rows.firstEntry(local) * SHAPE.hidden());
      }
      exchange.sendCombine(epoch, output);
      exchange.receiveCombine(epoch, tokens);
    }

    void inPlace(long round) {
      long epoch = dispatch(round);
      exchange.beginCombine(epoch, outgoing);
      for (int row = 0; row < rows.rows(); row++) {
        MemorySegment target = outgoing.memory(rows.source(row));
        MemorySegment.copy(
            rows.memory(), rows.offset(row), target, outgoing.offset(row), 2L * SHAPE.hidden());
        outgoing.complete(row);
      }
      exchange.finishCombine(epoch);
      exchange.receiveCombine(epoch, tokens);
    }

    void finished(long round) {
      long epoch = dispatch(round);
      for (int row = 0; row < rows.rows(); row++) {
        rows.copyRow(row, output, 2L * row * SHAPE.hidden());
      }
      exchange.sendFinished(epoch, output);
      exchange.receiveCombine(epoch, tokens);
    }

    private long dispatch(long round) {
      int n = (int) (round % (SHAPE.tokens() + 1));
      long epoch = exchange.sendDispatch(tokens, experts, weights, n);
      exchange.receiveDispatch(epoch, rows);
      return epoch;
    }
  }
}
