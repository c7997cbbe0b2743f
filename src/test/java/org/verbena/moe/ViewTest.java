package org.verbena.moe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.acceptance.Ranks;
import org.verbena.layout.ExchangeShape;
import org.verbena.transport.shm.ShmTransport;

/** Views of rows that other threads use while their memory goes. */
class ViewTest {
  /** More bytes than a pipe holds. */
  private static final ExchangeShape SHAPE = new ExchangeShape(1, 32, 8192, 1, 1);

  @TempDir Path directory;

  /** What is done with a view of received rows. */
  @FunctionalInterface
  private interface Use {
    void of(Exchange exchange, MemorySegment view) throws Exception;
  }

  private void run(boolean guarded, Use use) throws Exception {
    ExchangeConfig config = ExchangeConfig.builder(SHAPE).guardedViews(guarded).build();
    Ranks.run(
        1,
        group -> {
          try (Exchange exchange = Exchange.open(group, ShmTransport.provider(directory), config);
              Arena arena = Arena.ofConfined()) {
            long epoch = exchange.sendDispatch(rows(arena), rows(arena), rows(arena), 1);
            use.of(exchange, exchange.receiveDispatch(epoch, new ReceivedRows()).memory());
          }
        });
  }

  private static MemorySegment rows(Arena arena) {
    return arena.allocate(2L * SHAPE.hidden(), 64);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whoReadsWhileTheExchangeClosesGetsAnException(boolean guarded) throws Exception {
    try (ExecutorService threads = Executors.newSingleThreadExecutor()) {
      for (int i = 0; i < 20; i++) {
        run(
            guarded,
            (exchange, view) -> {
              CountDownLatch reading = new CountDownLatch(1);
              Future<?> reader = threads.submit(() -> readForEver(view, reading));
              assertThat(reading.await(30, TimeUnit.SECONDS)).isTrue();
              exchange.close();
              assertThatThrownBy(() -> reader.get(30, TimeUnit.SECONDS))
                  .hasCauseInstanceOf(IllegalStateException.class);
            });
      }
    }
  }

  private static void readForEver(MemorySegment view, CountDownLatch reading) {
    long sum = 0;
    for (long at = 0; ; at = (at + 8) % view.byteSize()) {
      sum += view.get(ValueLayout.JAVA_LONG, at);
      if (at == 8_000) {
        reading.countDown();
      }
      if (sum == Long.MIN_VALUE) {
        Thread.onSpinWait(); // So that the sum, and the reading, is of use.
      }
    }
  }

  /** A native call holds the memory: closing is refused, and can be repeated once it returned. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void closingIsRefusedWhileANativeCallUsesAView(boolean guarded) throws Exception {
    run(
        guarded,
        (exchange, view) -> {
          duringNativeCall(
              view,
              () -> {
                assertThatThrownBy(exchange::close)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("rank 0: close: a native call");
                assertThat(view.scope().isAlive()).isTrue();
              });
          exchange.close();
          assertThat(view.scope().isAlive()).isFalse();
        });
  }

  @Test
  void aCombineIsRefusedWhileANativeCallUsesAView() throws Exception {
    run(
        true,
        (exchange, view) -> {
          try (Arena arena = Arena.ofConfined()) {
            MemorySegment rows = rows(arena);
            duringNativeCall(
                view,
                () ->
                    assertThatThrownBy(() -> exchange.sendCombine(1, rows))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("rank 0: combine send of epoch 1: a native call"));
            exchange.sendCombine(1, rows);
            assertThat(view.scope().isAlive()).isFalse();
            exchange.receiveCombine(1, rows);
          }
        });
  }

  /** Another thread writes the view into a pipe, which holds less. */
  private static void duringNativeCall(MemorySegment view, Runnable action) throws Exception {
    Pipe pipe = Pipe.open();
    try (ExecutorService threads = Executors.newSingleThreadExecutor();
        Pipe.SourceChannel source = pipe.source();
        Pipe.SinkChannel sink = pipe.sink()) {
      Future<Integer> writing = threads.submit(() -> sink.write(view.asByteBuffer()));
      assertThat(source.read(ByteBuffer.allocateDirect(1))).isEqualTo(1);
      action.run();
      long left = view.byteSize() - 1;
      ByteBuffer rest = ByteBuffer.allocateDirect(1 << 16);
      while (left > 0) {
        left -= source.read(rest.clear());
      }
      assertThat(writing.get(30, TimeUnit.SECONDS)).isEqualTo((int) view.byteSize());
    }
  }
}
