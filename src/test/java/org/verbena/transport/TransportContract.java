package org.verbena.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.acceptance.Ranks;
import org.verbena.bootstrap.Group;

/**
 * What every transport must do. The tests of a transport extend this class and say how it is made.
 */
public abstract class TransportContract {
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();
  private static final long WINDOW = 1 << 16;
  private static final long SIGNAL = WINDOW - 64;

  /** A contract still to be tested. */
  protected TransportContract() {}

  /** Makes the transport under test. */
  protected abstract TransportProvider provider();

  /** One rank's part of a test. */
  @FunctionalInterface
  private interface Part {
    void run(Group group, Transport transport) throws Exception;
  }

  private void run(int ranks, Part part) throws Exception {
    Ranks.run(
        ranks,
        group -> {
          try (Transport transport = provider().open(group, WINDOW)) {
            part.run(group, transport);
            group.allGather("end of test", new byte[0]);
          }
        });
  }

  private static void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + Duration.ofSeconds(30).toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("deadline of: " + what).isLessThan(deadline);
      Thread.onSpinWait();
    }
  }

  private static long signal(Transport transport) {
    return (long) LONG.getAcquire(transport.window(), SIGNAL);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 5})
  void knowsItsPlaceAndStartsWithZeros(int ranks) throws Exception {
    run(
        ranks,
        (group, transport) -> {
          assertThat(transport.rank()).isEqualTo(group.rank());
          assertThat(transport.size()).isEqualTo(ranks);
          assertThat(transport.window().byteSize()).isEqualTo(WINDOW);
          assertThat(transport.window().address() % 64).isZero();
          MemorySegment zeros = MemorySegment.ofArray(new byte[(int) WINDOW]);
          assertThat(transport.window().mismatch(zeros)).isEqualTo(-1);
          group.allGather("all have looked", new byte[0]);
        });
  }

  /** Puts a value where a peer shall find it, by the way that all transports have in common. */
  private static void put(Transport transport, int peer, long remote, long local, long value) {
    boolean direct = transport.isDirect(peer);
    transport.stage(peer).set(ValueLayout.JAVA_LONG, direct ? remote : local, value);
    long ticket = transport.write(peer, remote, local, Long.BYTES);
    await("completion of a write", () -> transport.isComplete(peer, ticket));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4})
  void whatIsWrittenBeforeASignalIsThereWithIt(int ranks) throws Exception {
    run(
        ranks,
        (group, transport) -> {
          int me = group.rank();
          for (long round = 1; round <= 200; round++) {
            for (int peer = 0; peer < ranks; peer++) {
              put(transport, peer, 8L * me, 1024 + 8L * peer, round * 100 + me);
              transport.signalRelease(peer, 4096 + 64L * me, round);
            }
            for (int peer = 0; peer < ranks; peer++) {
              long from = peer;
              long expected = round;
              await(
                  "signal of rank " + peer,
                  () -> (long) LONG.getAcquire(transport.window(), 4096 + 64 * from) == expected);
              assertThat(transport.window().get(ValueLayout.JAVA_LONG, 8 * from))
                  .isEqualTo(round * 100 + peer);
            }
            group.allGather("round", new byte[0]);
          }
        });
  }

  /** Pieces from several places become one run of bytes at the peer, however they travel. */
  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void whatIsRegisteredIsSentFromWhereItIs(int ranks) throws Exception {
    int pieces = 100;
    run(
        ranks,
        (group, transport) -> {
          try (Arena arena = Arena.ofShared()) {
            MemorySegment memory = arena.allocate(8L * pieces, 8);
            try (Registration registration = transport.register(memory.asReadOnly())) {
              assertThat(registration.memory().address()).isEqualTo(memory.address());
              for (int round = 1; round <= 20; round++) {
                for (int i = 0; i < pieces; i++) {
                  memory.setAtIndex(ValueLayout.JAVA_LONG, i, 1000L * round + i);
                }
                for (int peer = 0; peer < ranks; peer++) {
                  sendBackwards(transport, peer, registration, pieces);
                  transport.signalRelease(peer, 32_768 + 64L * group.rank(), round);
                }
                for (int peer = 0; peer < ranks; peer++) {
                  long at = 32_768 + 64L * peer;
                  long expected = round;
                  await(
                      "signal of rank " + peer,
                      () -> (long) LONG.getAcquire(transport.window(), at) == expected);
                  for (int i = 0; i < pieces; i++) {
                    assertThat(transport.window().get(ValueLayout.JAVA_LONG, 1024L * peer + 8L * i))
                        .isEqualTo(1000L * round + pieces - 1 - i);
                  }
                }
                group.allGather("round", new byte[0]);
              }
            }
          }
        });
  }

  /** Returns when the memory may be changed again. */
  private static void sendBackwards(
      Transport transport, int peer, Registration registration, int pieces) {
    long ticket = 0;
    for (int i = 0; i < pieces; i++) {
      long remote = 1024L * transport.rank() + 8L * i;
      ticket = transport.write(peer, remote, registration, 8L * (pieces - 1 - i), Long.BYTES);
    }
    long last = ticket;
    await("completion of a write", () -> transport.isComplete(peer, last));
  }

  @Test
  void signalsOf32BitsTouchNothingBeside() throws Exception {
    run(
        2,
        (group, transport) -> {
          int other = 1 - group.rank();
          transport.signalIntRelease(other, SIGNAL + 4, 0x8000_0001);
          await(
              "32-bit signal",
              () -> (int) INT.getAcquire(transport.window(), SIGNAL + 4) == 0x8000_0001);
          assertThat((int) INT.getAcquire(transport.window(), SIGNAL)).isZero();
        });
  }

  @Test
  void readsWhatAPeerHolds() throws Exception {
    run(
        3,
        (group, transport) -> {
          transport.window().set(ValueLayout.JAVA_LONG, 8, 1000L + group.rank());
          group.allGather("written", new byte[0]);
          for (int peer = 0; peer < 3; peer++) {
            long ticket = transport.read(peer, 8, 256 + 8L * peer, Long.BYTES);
            int from = peer;
            await("read", () -> transport.isComplete(from, ticket));
            assertThat(transport.window().get(ValueLayout.JAVA_LONG, 256 + 8L * peer))
                .isEqualTo(1000L + peer);
          }
          group.allGather("read", new byte[0]);
        });
  }

  @Test
  void additionsOfAllRanksAddUp() throws Exception {
    int ranks = 3;
    int additions = 500;
    run(
        ranks,
        (group, transport) -> {
          for (int i = 0; i < additions; i++) {
            long ticket = transport.fetchAndAdd(0, SIGNAL, 3, 64);
            await("addition", () -> transport.isComplete(0, ticket));
          }
          group.allGather("added", new byte[0]);
          if (group.rank() == 0) {
            assertThat(signal(transport)).isEqualTo(3L * ranks * additions);
          }
        });
  }

  @Test
  void ofManySwapsOneSucceeds() throws Exception {
    run(
        4,
        (group, transport) -> {
          long ticket = transport.compareAndSwap(0, SIGNAL, 0, 10 + group.rank(), 64);
          await("swap", () -> transport.isComplete(0, ticket));
          boolean won = transport.window().get(ValueLayout.JAVA_LONG, 64) == 0;
          long winners =
              group.allGather("swapped", new byte[] {(byte) (won ? 1 : 0)}).stream()
                  .filter(bytes -> bytes[0] == 1)
                  .count();
          assertThat(winners).isEqualTo(1);
        });
  }

  @Test
  void aPeerThatClosedIsNotDead() throws Exception {
    Ranks.run(
        2,
        group -> {
          Transport transport = provider().open(group, WINDOW);
          if (group.rank() == 1) {
            put(transport, 0, 0, 1024, 7);
            transport.signalRelease(0, SIGNAL, 1);
            transport.close();
            transport.close();
          } else {
            await("close of rank 1", () -> transport.state(1).kind() == PeerState.Kind.CLOSED);
            assertThat(signal(transport)).isEqualTo(1);
            assertThat(transport.window().get(ValueLayout.JAVA_LONG, 0)).isEqualTo(7);
            Wait wait = new Wait(transport, IdleStrategy.forRanks(2), Duration.ofSeconds(20));
            wait.start("dispatch receive", 9);
            assertThatThrownBy(
                    () -> {
                      while (true) {
                        wait.pause(1);
                      }
                    })
                .isInstanceOf(PeerException.class)
                .hasMessageContaining("rank 0: dispatch receive of epoch 9")
                .hasMessageContaining("rank 1 closed in order");
            transport.close();
          }
          group.allGather("end of test", new byte[0]);
        });
  }

  @Test
  void whoWaitsForARankThatGaveUpLearnsBecauseOfWhom() throws Exception {
    run(
        3,
        (group, transport) -> {
          if (group.rank() == 1) {
            transport.fail(2);
          } else if (group.rank() == 0) {
            await("failure", () -> transport.state(1).kind() == PeerState.Kind.FAILED);
            assertThat(transport.state(1).culprit()).isEqualTo(2);
            assertThat(transport.state(2).kind()).isEqualTo(PeerState.Kind.ALIVE);
          }
        });
  }

  @Test
  void aWaitEndsAtItsDeadline() throws Exception {
    run(
        2,
        (group, transport) -> {
          if (group.rank() == 0) {
            Wait wait = new Wait(transport, IdleStrategy.forRanks(2), Duration.ofMillis(300));
            wait.start("combine receive", 4);
            assertThatThrownBy(
                    () -> {
                      while (true) {
                        wait.pause(1);
                      }
                    })
                .isInstanceOfSatisfying(PeerException.class, e -> assertThat(e.peer()).isEqualTo(1))
                .hasMessageContaining("rank 0: combine receive of epoch 4, waiting for rank 1")
                .hasMessageContaining("nothing came within 0.");
          }
          group.allGather("waited", new byte[0]);
        });
  }

  /** As when this very process was stopped for longer than the timeout. */
  @Test
  void whatCameWhileThisRankDidNotRunCounts() throws Exception {
    run(
        2,
        (group, transport) -> {
          if (group.rank() == 0) {
            transport.signalRelease(1, SIGNAL, 1);
            group.allGather("signalled", new byte[0]);
          } else {
            Duration timeout = Duration.ofMillis(1);
            IdleStrategy stopped =
                pauses -> {
                  if (pauses == 0) {
                    group.allGather("signalled", new byte[0]);
                  }
                  LockSupport.parkNanos(2 * timeout.toNanos());
                };
            Wait wait = new Wait(transport, stopped, timeout);
            wait.start("dispatch receive", 1);
            // The caller looks each time, except while it does not run: more than the deadline.
            for (int pause = 0; pause < 64; pause++) {
              wait.pause(0);
            }
            assertThat(signal(transport)).isEqualTo(1);
          }
        });
  }

  @Test
  void anInterruptEndsAWaitAndNothingElse() throws Exception {
    run(
        2,
        (group, transport) -> {
          Wait wait = new Wait(transport, IdleStrategy.forRanks(2), Duration.ofSeconds(20));
          Thread.currentThread().interrupt();
          wait.start("dispatch receive", 1);
          assertThatThrownBy(
                  () -> {
                    while (true) {
                      wait.pause(1 - group.rank());
                    }
                  })
              .isInstanceOf(WaitInterruptedException.class)
              .hasMessageContaining("can be made again");
          assertThat(Thread.interrupted()).isTrue();
          assertThat(transport.state(1 - group.rank()).kind()).isEqualTo(PeerState.Kind.ALIVE);
        });
  }
}
