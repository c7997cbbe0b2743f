package org.verbena.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.verbena.transport.PeerException;

/** What the gather of results must do over any transport. */
abstract class GatherContract extends Moves {
  private static final int BYTES = 300;

  private static byte[] piece(int rank, int gather) {
    Random random = new Random(31L * gather + rank);
    byte[] bytes = new byte[random.nextInt(5) == 0 ? 0 : random.nextInt(BYTES + 1)];
    random.nextBytes(bytes);
    return bytes;
  }

  private static void check(ResultGather gather, int rank, int number) {
    assertThat(
            gather
                .memory()
                .asSlice(gather.offset(rank), gather.bytes(rank))
                .toArray(ValueLayout.JAVA_BYTE))
        .as("piece of rank %d in gather %d", rank, number)
        .isEqualTo(piece(rank, number));
  }

  @ParameterizedTest
  @CsvSource({"1, 0, 1", "2, 1, 1", "4, 2, 3"})
  void piecesOfAllLengthsArriveWholeGatherAfterGather(int ranks, int target, int slots)
      throws Exception {
    run(
        ranks,
        CollectiveConfig.builder().gather(target, slots, BYTES),
        (group, collective) -> {
          ResultGather gather = collective.gather();
          assertThat(gather.target()).isEqualTo(target);
          assertThat(gather.isTarget()).isEqualTo(group.rank() == target);
          for (int number = 0; number < 200; number++) {
            gather.send(MemorySegment.ofArray(piece(group.rank(), number)));
            if (gather.isTarget()) {
              gather.receive();
              for (int rank = 0; rank < ranks; rank++) {
                check(gather, rank, number);
              }
              gather.release();
            }
          }
        });
  }

  /** A rank may be ahead by as many gathers as there are slots, and no further. */
  @Test
  void theTargetLearnsWhenAllIsThereAndNotBefore() throws Exception {
    run(
        3,
        CollectiveConfig.builder().gather(0, 2, BYTES),
        (group, collective) -> {
          ResultGather gather = collective.gather();
          if (group.rank() == 1) {
            gather.send(MemorySegment.ofArray(piece(1, 0)));
            gather.send(MemorySegment.ofArray(piece(1, 1)));
            group.allGather("one rank is ahead", new byte[0]);
            group.allGather("looked", new byte[0]);
            assertThat(gather.sender().canClaim()).isFalse();
            group.allGather("held back", new byte[0]);
          } else {
            group.allGather("one rank is ahead", new byte[0]);
            if (group.rank() == 0) {
              gather.send(MemorySegment.ofArray(piece(0, 0)));
              assertThat(gather.isReady()).isFalse();
              assertThatThrownBy(() -> gather.bytes(1)).hasMessageContaining("no gather");
            }
            group.allGather("looked", new byte[0]);
            group.allGather("held back", new byte[0]);
            if (group.rank() == 2) {
              long at = gather.sender().claim();
              byte[] piece = piece(2, 0);
              MemorySegment.copy(
                  piece, 0, gather.sender().memory(), ValueLayout.JAVA_BYTE, at, piece.length);
              gather.sender().send(piece.length);
              assertThatThrownBy(gather::receive)
                  .isInstanceOf(IllegalStateException.class)
                  .hasMessageContaining("the pieces are with rank 0");
            } else {
              await("all pieces", gather::isReady);
              gather.receive();
              for (int rank = 0; rank < 3; rank++) {
                check(gather, rank, 0);
              }
              assertThatThrownBy(gather::receive).hasMessageContaining("release it first");
              gather.release();
              assertThat(gather.isReady()).isFalse();
            }
          }
        });
  }

  @Test
  void aLostRankIsReportedAndNoGatherWithoutItsPiece() throws Exception {
    run(
        3,
        CollectiveConfig.builder().gather(1, 1, BYTES),
        (group, collective) -> {
          ResultGather gather = collective.gather();
          if (group.rank() == 2) {
            lose(collective);
            return;
          }
          gather.send(MemorySegment.ofArray(piece(group.rank(), 0)));
          if (group.rank() == 1) {
            assertThatThrownBy(gather::receive)
                .isInstanceOfSatisfying(PeerException.class, e -> assertThat(e.peer()).isEqualTo(2))
                .hasMessageContaining("rank 1: gather receive");
            assertThatThrownBy(() -> gather.bytes(0)).isInstanceOf(IllegalStateException.class);
          }
        });
  }
}
