package org.verbena.collective;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.verbena.acceptance.Allocations;
import org.verbena.acceptance.Ranks;
import org.verbena.transport.shm.ShmTransport;

/** Messages, gathers and counters allocate nothing on the Java heap, once they are steady. */
class AllocationTest {
  private static final int BYTES = 1000;

  @TempDir Path directory;

  @ParameterizedTest
  @EnumSource(Move.class)
  void steadyMovesAllocateNothing(Move move) throws Exception {
    CollectiveConfig config =
        CollectiveConfig.builder()
            .links(Link.ring(2), move, 2, BYTES)
            .gather(1, 2, BYTES)
            .counters(2)
            .build();
    Ranks.run(
        2,
        group -> {
          try (Collective collective =
                  Collective.open(group, ShmTransport.provider(directory), config);
              Arena arena = Arena.ofConfined()) {
            MemorySegment piece = arena.allocate(BYTES);
            Allocations.untilSteady(group, _ -> links(collective, piece));
            Allocations.untilSteady(group, round -> gather(collective.gather(), piece, round));
            Allocations.untilSteady(group, round -> count(collective.counters(), round));
          }
        });
  }

  private static void links(Collective collective, MemorySegment piece) {
    int other = 1 - collective.rank();
    Sender sender = collective.sender(other);
    Receiver receiver = collective.receiver(other);
    sender.send(piece);
    long at = sender.claim();
    sender.memory().set(ValueLayout.JAVA_LONG, at, at);
    sender.send(Long.BYTES);
    for (int i = 0; i < 2; i++) {
      at = receiver.receive();
      receiver.memory().get(ValueLayout.JAVA_LONG, at);
      receiver.release();
    }
  }

  private static void gather(ResultGather gather, MemorySegment piece, long round) {
    piece.set(ValueLayout.JAVA_LONG, 0, round);
    gather.send(piece);
    if (gather.isTarget()) {
      gather.receive();
      gather.memory().get(ValueLayout.JAVA_LONG, gather.offset(0));
      gather.release();
    }
  }

  private static void count(SharedCounters counters, long round) {
    counters.fetchAndAdd((int) (round % 2), 1);
    counters.compareAndSwap(0, round, round + 1);
  }
}
