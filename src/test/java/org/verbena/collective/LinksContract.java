package org.verbena.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.verbena.acceptance.Ranks;
import org.verbena.bootstrap.GroupException;
import org.verbena.transport.PeerException;
import org.verbena.transport.WaitInterruptedException;

/** What the exchange of activations must do over any transport. */
abstract class LinksContract extends Moves {
  private static final int BYTES = 200;

  private static CollectiveConfig.Builder links(List<Link> links, Move move, int slots) {
    return CollectiveConfig.builder().links(links, move, slots, BYTES);
  }

  private static byte[] message(long seed, long number) {
    Random random = new Random(seed * 1_000_003 + number);
    byte[] bytes = new byte[random.nextInt(BYTES + 1)];
    random.nextBytes(bytes);
    return bytes;
  }

  private static void check(Receiver receiver, long at, int bytes, byte[] expected) {
    assertThat(receiver.memory().asSlice(at, bytes).toArray(ValueLayout.JAVA_BYTE))
        .isEqualTo(expected);
  }

  /** Stages pass messages on; the last one holds several before it gives them back. */
  @ParameterizedTest
  @EnumSource(Move.class)
  void manyMessagesArriveWholeInOrderAndOnce(Move move) throws Exception {
    int messages = 1000;
    int slots = 3;
    long seed = new Random().nextLong();
    System.err.println("seed of messages: " + seed);
    run(
        3,
        links(Link.chain(3), move, slots),
        (group, collective) -> {
          int rank = group.rank();
          Random random = new Random(seed + rank);
          Deque<Long> held = new ArrayDeque<>();
          Deque<byte[]> expected = new ArrayDeque<>();
          for (long number = 0; number < messages; number++) {
            byte[] message = message(seed, number);
            if (rank > 0) {
              Receiver receiver = collective.receiver(rank - 1);
              long at = receiver.receive();
              assertThat(at % 64).isZero();
              held.add(at);
              expected.add(message);
              check(receiver, at, receiver.bytes(), message);
            }
            if (rank < 2) {
              Sender sender = collective.sender(rank + 1);
              long at = sender.claim();
              assertThat(sender.claim()).isEqualTo(at);
              MemorySegment.copy(
                  message, 0, sender.memory(), ValueLayout.JAVA_BYTE, at, message.length);
              sender.send(message.length);
            }
            while (held.size() == slots || (!held.isEmpty() && random.nextBoolean())) {
              // It is still as it was when it came.
              check(
                  collective.receiver(rank - 1),
                  held.remove(),
                  expected.element().length,
                  expected.remove());
              collective.receiver(rank - 1).release();
            }
          }
          if (rank > 0) {
            assertThat(collective.receiver(rank - 1).isReady()).isFalse();
          }
        });
  }

  @ParameterizedTest
  @EnumSource(Move.class)
  void aSenderIsHeldBackUntilAMessageIsGivenBack(Move move) throws Exception {
    int slots = 2;
    run(
        2,
        links(List.of(new Link(0, 1)), move, slots),
        (group, collective) -> {
          if (group.rank() == 0) {
            Sender sender = collective.sender(1);
            assertThat(sender.target()).isEqualTo(1);
            for (int number = 0; number < slots; number++) {
              assertThat(sender.canClaim()).isTrue();
              sender.send(MemorySegment.ofArray(message(1, number)));
            }
            group.allGather("sent", new byte[0]);
            group.allGather("received", new byte[0]);
            assertThat(sender.canClaim()).isFalse();
            Thread.currentThread().interrupt();
            assertThatThrownBy(sender::claim).isInstanceOf(WaitInterruptedException.class);
            assertThat(Thread.interrupted()).isTrue();
            group.allGather("held back", new byte[0]);
            sender.claim();
            sender.send(0);
          } else {
            Receiver receiver = collective.receiver(0);
            assertThat(receiver.source()).isZero();
            group.allGather("sent", new byte[0]);
            long[] at = new long[slots];
            for (int number = 0; number < slots; number++) {
              await("message", receiver::isReady);
              at[number] = receiver.receive();
            }
            assertThatThrownBy(receiver::receive)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("all 2 slots hold messages");
            group.allGather("received", new byte[0]);
            group.allGather("held back", new byte[0]);
            for (int number = 0; number < slots; number++) {
              check(receiver, at[number], message(1, number).length, message(1, number));
            }
            receiver.release();
            receiver.receive();
            assertThat(receiver.bytes()).isZero();
            receiver.release();
            receiver.release();
            assertThatThrownBy(receiver::release).hasMessageContaining("no message is taken");
          }
        });
  }

  /** As when the last stage hands a token back to the first. */
  @ParameterizedTest
  @EnumSource(Move.class)
  void messagesGoRoundARing(Move move) throws Exception {
    int ranks = 4;
    int rounds = 50;
    run(
        ranks,
        links(Link.ring(ranks), move, 1),
        (group, collective) -> {
          int rank = group.rank();
          Sender sender = collective.sender((rank + 1) % ranks);
          Receiver receiver = collective.receiver((rank + ranks - 1) % ranks);
          for (int round = 0; round < rounds; round++) {
            long count = 0;
            if (rank > 0) {
              count = receiver.memory().get(ValueLayout.JAVA_LONG, receiver.receive());
              receiver.release();
            }
            long at = sender.claim();
            sender.memory().set(ValueLayout.JAVA_LONG, at, count + 1);
            sender.send(Long.BYTES);
            if (rank == 0) {
              count = receiver.memory().get(ValueLayout.JAVA_LONG, receiver.receive());
              receiver.release();
              assertThat(count).isEqualTo(ranks);
            }
          }
        });
  }

  @Test
  void linksOfOneRankDoNotMeet() throws Exception {
    List<Link> links =
        List.of(new Link(0, 2), new Link(1, 2), new Link(2, 2), new Link(2, 0), new Link(2, 1));
    run(
        3,
        links(links, Move.WRITE, 4),
        (group, collective) -> {
          int rank = group.rank();
          for (int number = 0; number < 100; number++) {
            collective.sender(2).send(MemorySegment.ofArray(message(rank, number)));
            if (rank == 2) {
              for (int source = 0; source < 3; source++) {
                Receiver receiver = collective.receiver(source);
                long at = receiver.receive();
                check(receiver, at, receiver.bytes(), message(source, number));
                receiver.release();
              }
              collective.sender(number % 2).send(MemorySegment.ofArray(message(9, number)));
            } else if (number % 2 == rank) {
              Receiver receiver = collective.receiver(2);
              check(receiver, receiver.receive(), receiver.bytes(), message(9, number));
              receiver.release();
            }
          }
        });
  }

  @ParameterizedTest
  @EnumSource(Move.class)
  void aLostNeighbourIsReportedAtBothEnds(Move move) throws Exception {
    run(
        3,
        links(Link.chain(3), move, 2),
        (group, collective) -> {
          if (group.rank() == 1) {
            collective.receiver(0).receive();
            lose(collective);
          } else if (group.rank() == 0) {
            Sender sender = collective.sender(1);
            assertThatThrownBy(
                    () -> {
                      while (true) {
                        sender.send(MemorySegment.ofArray(new byte[BYTES]));
                      }
                    })
                .isInstanceOfSatisfying(PeerException.class, e -> assertThat(e.peer()).isEqualTo(1))
                .hasMessageContaining("rank 0: activation send");
            assertThatThrownBy(sender::claim)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("can only be closed")
                .hasCauseInstanceOf(PeerException.class);
          } else {
            assertThatThrownBy(collective.receiver(1)::receive)
                .isInstanceOfSatisfying(PeerException.class, e -> assertThat(e.peer()).isEqualTo(1))
                .hasMessageContaining("rank 2: activation receive");
          }
        });
  }

  @Test
  void whatCannotBeSentIsRefusedAndNothingIsLost() throws Exception {
    run(
        2,
        links(List.of(new Link(0, 1)), Move.WRITE, 1),
        (group, collective) -> {
          if (group.rank() == 0) {
            Sender sender = collective.sender(1);
            assertThat(sender.capacity()).isEqualTo(BYTES);
            assertThatThrownBy(() -> sender.send(4)).hasMessageContaining("call claim first");
            assertThatThrownBy(() -> sender.send(MemorySegment.ofArray(new byte[BYTES + 1])))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("rank 0: activation send to rank 1: a message has 0 to 200");
            sender.claim();
            assertThatThrownBy(() -> sender.send(-1)).isInstanceOf(IllegalArgumentException.class);
            sender.send(BYTES);
          } else {
            Receiver receiver = collective.receiver(0);
            assertThatThrownBy(receiver::bytes).isInstanceOf(IllegalStateException.class);
            receiver.receive();
            assertThat(receiver.bytes()).isEqualTo(BYTES);
            assertThatThrownBy(() -> collective.sender(0))
                .hasMessageContaining("rank 1: no link to rank 0 was configured");
          }
        });
  }

  @Test
  void ranksMustAgree() throws Exception {
    Ranks.run(
        2,
        group ->
            assertThatThrownBy(
                    () ->
                        open(group, provider(), links(Link.ring(2), Move.WRITE, 1 + group.rank())))
                .isInstanceOf(GroupException.class)
                .hasMessageContaining("link slots"));
  }
}
