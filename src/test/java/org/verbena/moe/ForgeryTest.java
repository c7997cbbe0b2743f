package org.verbena.moe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.acceptance.Ranks;
import org.verbena.bootstrap.Group;
import org.verbena.layout.BufferLayout;
import org.verbena.layout.ExchangeShape;
import org.verbena.layout.LayoutOptions;
import org.verbena.moe.ExchangeConfig.CombineOrder;
import org.verbena.transport.PeerException;
import org.verbena.transport.PeerState;
import org.verbena.transport.Transport;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.shm.ShmTransport;

/**
 * What a peer can bring about that breaks the protocol, or repeats what it said before. Rank 0 goes
 * by the rules; rank 1 is a bare transport, with which a test writes what it likes.
 */
class ForgeryTest {
  /** Rank 0 has the experts 0 to 2, rank 1 those from 3 to 5. */
  private static final ExchangeShape SHAPE = new ExchangeShape(2, 4, 16, 6, 1);

  private static final Duration SHORT = Duration.ofMillis(300);

  @TempDir Path directory;

  /** What rank 0 does, and what is written to it. */
  @FunctionalInterface
  private interface Part {
    void run(Exchange exchange, Forger peer, Arena arena) throws Exception;
  }

  /** Writes into rank 0's window as rank 1. */
  private record Forger(Transport transport, BufferLayout layout) {
    void dispatchWord(long epoch, long word) {
      transport.signalRelease(0, layout.dispatchCount(layout.half(epoch), 1), word);
    }

    void combineWord(long epoch, long word) {
      transport.signalRelease(0, layout.combineProgress(layout.half(epoch), 1), word);
    }

    void flags(long epoch, int value) {
      for (int slot = 0; slot < SHAPE.tokens(); slot++) {
        transport.signalIntRelease(0, layout.combineFlag(layout.half(epoch), 1, slot), value);
      }
    }

    /** A row in slot 0, said to be of this token and for this expert. */
    void row(long epoch, int token, int expert) {
      int half = layout.half(epoch);
      long message = layout.dispatchReceive(half, 1, 0);
      MemorySegment window = transport.stage(0);
      window.set(ValueLayout.JAVA_INT, message + layout.tokenIndexOffset(), token);
      window.set(ValueLayout.JAVA_INT, layout.routingReceive(half, 1, 0), expert);
    }

    void fillEntries(long epoch, byte value) {
      long first = layout.routingReceive(layout.half(epoch), 0, 0);
      long bytes = layout.combineReceive(layout.half(epoch), 0, 0) - first;
      transport.stage(0).asSlice(first, bytes).fill(value);
    }
  }

  private void run(ExchangeConfig.Builder builder, Part part) throws Exception {
    ExchangeConfig config = builder.build();
    TransportProvider provider = ShmTransport.provider(directory);
    BufferLayout layout =
        new BufferLayout(SHAPE, LayoutOptions.of(LayoutOptions.Kind.SHARED).withScale(1));
    AtomicReference<Transport> bare = new AtomicReference<>();
    Ranks.run(
        2,
        group -> {
          if (group.rank() == 1) {
            group.agree(config.agreement(layout, provider.name()));
            try (Transport transport = provider.open(group, layout.allocationBytes())) {
              bare.set(transport);
              group.allGather("opened", new byte[0]);
              group.allGather("done", new byte[0]);
            }
          } else {
            keepToTheRules(group, provider, config, bare, part);
          }
        });
  }

  private static void keepToTheRules(
      Group group,
      TransportProvider provider,
      ExchangeConfig config,
      AtomicReference<Transport> bare,
      Part part)
      throws Exception {
    try (Exchange exchange = Exchange.open(group, provider, config);
        Arena arena = Arena.ofConfined()) {
      group.allGather("opened", new byte[0]);
      part.run(exchange, new Forger(bare.get(), exchange.layout()), arena);
      group.allGather("done", new byte[0]);
    }
  }

  private static ExchangeConfig.Builder config() {
    return ExchangeConfig.builder(SHAPE).scale(1).timeout(Duration.ofSeconds(60));
  }

  private static long word(long epoch, long low) {
    return epoch << 32 | low;
  }

  /** Sends tokens to an expert of rank 1. */
  private static long send(Exchange exchange, int n, Arena arena) {
    MemorySegment ids = arena.allocate(64, 64);
    for (int token = 0; token < n; token++) {
      ids.setAtIndex(ValueLayout.JAVA_INT, token, 3);
    }
    return exchange.sendDispatch(arena.allocate(256, 64), ids, arena.allocate(64, 64), n);
  }

  /** Sends two tokens to rank 1, which sends nothing and has not answered yet. */
  private static long untilCombineReceive(Exchange exchange, Forger peer, Arena arena) {
    long epoch = send(exchange, 2, arena);
    peer.dispatchWord(epoch, Signal.dispatched(epoch, 0));
    exchange.receiveDispatch(epoch, new ReceivedRows());
    exchange.sendCombine(epoch, arena.allocate(64, 64));
    return epoch;
  }

  private static void rejected(Exchange exchange, Forger peer, Runnable call, String... parts) {
    assertThatThrownBy(call::run)
        .isInstanceOfSatisfying(ExchangeException.class, e -> assertThat(e.peer()).isEqualTo(1))
        .hasMessageContainingAll(parts)
        .hasMessageStartingWith("rank 0: ");
    assertThatThrownBy(() -> exchange.isDispatchReady(1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("has failed");
    PeerState told = peer.transport.state(0);
    assertThat(told.kind()).isEqualTo(PeerState.Kind.FAILED);
    assertThat(told.culprit()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource({
    "6, 5",
    "0x80000000, -1",
    "0x7fffffff, 2147483646",
    "0xffffffff, 2147483646",
  })
  void aCountThatCannotBeIsRejectedBeforeAnythingIsRead(long low, int rows) throws Exception {
    run(
        config(),
        (exchange, peer, arena) -> {
          // Whoever read an entry would complain of its expert.
          peer.fillEntries(1, (byte) 0x7f);
          peer.dispatchWord(1, word(1, low));
          long epoch = send(exchange, 0, arena);
          ReceivedRows received = new ReceivedRows();
          rejected(
              exchange,
              peer,
              () -> exchange.receiveDispatch(epoch, received),
              "dispatch receive of epoch 1: rank 1 says that it sent " + rows + " rows, at most 4");
          assertThatThrownBy(received::rows).isInstanceOf(IllegalStateException.class);
        });
  }

  @Test
  void aWordWhoseLowHalfIsZeroIsNoSignal() throws Exception {
    run(
        config(),
        (exchange, peer, arena) -> {
          long epoch = send(exchange, 0, arena);
          peer.dispatchWord(epoch, word(epoch, 0));
          assertThat(exchange.isDispatchReady(epoch)).isFalse();
          peer.dispatchWord(epoch, Signal.dispatched(epoch, 0));
          assertThat(exchange.isDispatchReady(epoch)).isTrue();
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 6, -2, Integer.MAX_VALUE, Integer.MIN_VALUE})
  void anExpertThatIsNotHereIsRejected(int expert) throws Exception {
    run(
        config(),
        (exchange, peer, arena) -> {
          peer.row(1, 0, expert);
          peer.dispatchWord(1, Signal.dispatched(1, 1));
          long epoch = send(exchange, 0, arena);
          rejected(
              exchange,
              peer,
              () -> exchange.receiveDispatch(epoch, new ReceivedRows()),
              "rank 1 sent a row in slot 0 for expert " + expert + ", which is not here");
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {4, -1, Integer.MAX_VALUE, Integer.MIN_VALUE})
  void aTokenThatCannotBeIsRejected(int token) throws Exception {
    run(
        config(),
        (exchange, peer, arena) -> {
          peer.row(1, token, 2);
          peer.dispatchWord(1, Signal.dispatched(1, 1));
          long epoch = send(exchange, 0, arena);
          rejected(
              exchange,
              peer,
              () -> exchange.receiveDispatch(epoch, new ReceivedRows()),
              "rank 1 sent a row in slot 0 of token " + token);
        });
  }

  @ParameterizedTest
  @EnumSource(CombineOrder.class)
  void countsOfTheCombineThatCannotBeAreRejected(CombineOrder order) throws Exception {
    long[] lows = {2, 4, 5, 0, 0x7fff_ffffL}; // One more than the rows that it says.
    for (long low : lows) {
      run(
          config().combineOrder(order),
          (exchange, peer, arena) -> {
            long epoch = untilCombineReceive(exchange, peer, arena);
            peer.flags(epoch, Signal.flag(epoch));
            peer.combineWord(epoch, word(epoch, 1L << 31 | low));
            rejected(
                exchange,
                peer,
                () -> exchange.receiveCombine(epoch, arena.allocate(256, 64)),
                "combine receive of epoch 1: rank 1 says that it sent " + (low - 1) + " rows",
                "but was sent 2");
          });
    }
  }

  @Test
  void progressBeyondWhatWasSentIsRejected() throws Exception {
    run(
        config(),
        (exchange, peer, arena) -> {
          long epoch = untilCombineReceive(exchange, peer, arena);
          peer.combineWord(epoch, Signal.progress(epoch, 3));
          rejected(
              exchange,
              peer,
              () -> exchange.receiveCombine(epoch, arena.allocate(256, 64)),
              "rank 1 says that it sent 3 rows, but was sent 2");
        });
  }

  @Test
  void aSignalOfALaterEpochIsRejected() throws Exception {
    run(
        config(),
        (exchange, peer, arena) -> {
          long epoch = send(exchange, 0, arena);
          peer.dispatchWord(epoch, Signal.dispatched(epoch + 2, 0));
          rejected(
              exchange,
              peer,
              () -> exchange.receiveDispatch(epoch, new ReceivedRows()),
              "dispatch receive of epoch 1: rank 1 has signalled a later epoch (0x300000001)");
        });
    run(
        config(),
        (exchange, peer, arena) -> {
          long epoch = untilCombineReceive(exchange, peer, arena);
          peer.combineWord(epoch, Signal.closing(epoch + 2, 2));
          rejected(
              exchange,
              peer,
              () -> exchange.isCombineReady(epoch),
              "combine receive of epoch 1: rank 1 has signalled a later epoch");
        });
  }

  /**
   * What was right in round 1, in the same memory and with the same counts, is wrong in round 3.
   */
  @ParameterizedTest
  @EnumSource(CombineOrder.class)
  void whatASlotHeldInAnEarlierRoundIsIgnored(CombineOrder order) throws Exception {
    run(
        config().combineOrder(order).timeout(SHORT),
        (exchange, peer, arena) -> {
          MemorySegment out = arena.allocate(256, 64);
          for (long epoch = 1; epoch <= 2; epoch++) {
            assertThat(untilCombineReceive(exchange, peer, arena)).isEqualTo(epoch);
            peer.flags(epoch, Signal.flag(epoch));
            peer.combineWord(epoch, Signal.closing(epoch, 2));
            exchange.receiveCombine(epoch, out);
          }

          long epoch = send(exchange, 2, arena);
          peer.row(1, 0, 2);
          peer.dispatchWord(1, Signal.dispatched(1, 1));
          assertThat(exchange.isDispatchReady(epoch)).isFalse();
          peer.dispatchWord(epoch, Signal.dispatched(epoch, 0));
          assertThat(exchange.isDispatchReady(epoch)).isTrue();
          assertThat(exchange.receiveDispatch(epoch, new ReceivedRows()).rows()).isZero();
          exchange.sendCombine(epoch, out);

          peer.flags(1, Signal.flag(1));
          peer.combineWord(1, Signal.closing(1, 2));
          assertThat(exchange.isCombineReady(epoch)).isFalse();
          if (order == CombineOrder.ANY_ORDER) {
            // All is there by its word, but no row is by its flag.
            peer.combineWord(epoch, Signal.closing(epoch, 2));
          }
          assertThatThrownBy(() -> exchange.receiveCombine(epoch, out))
              .isInstanceOf(PeerException.class)
              .hasMessageContaining("waiting for rank 1: nothing came within");
        });
  }

  /** The compiled loop must look at memory each time, however long nothing came. */
  @Test
  void aLongWaitSeesTheSignal() throws Exception {
    AtomicReference<Thread> sender = new AtomicReference<>();
    run(
        config()
            .idleStrategy(
                pauses -> {
                  if (pauses == 100_000) {
                    sender.get().start();
                  }
                  Thread.onSpinWait();
                }),
        (exchange, peer, arena) -> {
          for (int round = 1; round <= 3; round++) {
            long epoch = send(exchange, 0, arena);
            sender.set(
                new Thread(() -> peer.dispatchWord(epoch, Signal.dispatched(epoch, 0)), "sender"));
            exchange.receiveDispatch(epoch, new ReceivedRows());
            sender.get().join();
            peer.combineWord(epoch, Signal.closing(epoch, 0));
            exchange.sendCombine(epoch, arena.allocate(64, 64));
            exchange.receiveCombine(epoch, arena.allocate(64, 64));
          }
        });
  }
}
