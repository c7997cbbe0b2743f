package org.verbena.collective;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.verbena.bootstrap.Group;
import org.verbena.bootstrap.LocalGroup;
import org.verbena.transport.shm.ShmTransport;

/**
 * What it takes to bring 256 MiB to three ranks over shared memory, beside a plain copy to three
 * targets by one thread. Both by turns in one process, so that the machine is the same for both.
 */
public final class SyncBenchmark {
  private static final long BYTES = 256L << 20;
  private static final int RANKS = 4;
  private static final int WARM_UP = 5;
  private static final int ROUNDS = 15;

  private final List<MemorySegment> memory;
  private final Route route;
  private final int slots;
  private final int chunkBytes;
  private final long[] copied = new long[ROUNDS];
  private final long[] synced = new long[ROUNDS];

  private SyncBenchmark(Arena arena, Route route, int slots, int chunkBytes) {
    memory = new ArrayList<>();
    for (int rank = 0; rank < RANKS; rank++) {
      memory.add(arena.allocate(BYTES, 4096).fill((byte) rank));
    }
    this.route = route;
    this.slots = slots;
    this.chunkBytes = chunkBytes;
  }

  /** Arguments: {@code star}, {@code chain} or {@code tree}, slots, KiB of a chunk. */
  public static void main(String[] args) throws Exception {
    Route route = Way.valueOf(args[0].toUpperCase(Locale.ROOT)).of(RANKS);
    int slots = Integer.parseInt(args[1]);
    int kib = Integer.parseInt(args[2]);
    try (Arena arena = Arena.ofShared()) {
      SyncBenchmark benchmark = new SyncBenchmark(arena, route, slots, kib << 10);
      benchmark.run();
      System.out.printf(
          "%s, %d slots of %d KiB: sync %.2f times a plain copy (medians of %d: %.0f and %.0f"
              + " ms)%n",
          args[0],
          slots,
          kib,
          benchmark.ratio(),
          ROUNDS,
          median(benchmark.synced) / 1e6,
          median(benchmark.copied) / 1e6);
    }
  }

  private void run() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(RANKS);
    try {
      List<Future<?>> ranks = new ArrayList<>();
      for (LocalGroup group : LocalGroup.of(RANKS)) {
        ranks.add(
            threads.submit(
                () -> {
                  run(group);
                  return null;
                }));
      }
      for (Future<?> rank : ranks) {
        rank.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private void run(Group group) {
    CollectiveConfig config = CollectiveConfig.builder().sync(slots, chunkBytes).build();
    MemoryParameters parameters = new MemoryParameters().add("all", memory.get(group.rank()));
    try (Collective collective = Collective.open(group, ShmTransport.provider(), config)) {
      for (int round = -WARM_UP; round < ROUNDS; round++) {
        if (group.rank() == 0) {
          long start = System.nanoTime();
          for (int target = 1; target < RANKS; target++) {
            MemorySegment.copy(memory.getFirst(), 0, memory.get(target), 0, BYTES);
          }
          copied[Math.max(round, 0)] = System.nanoTime() - start;
        }
        group.allGather("copied", new byte[0]);
        if (group.rank() == 0) {
          long start = System.nanoTime();
          collective.sync().send(parameters, route, SyncProgress.NONE);
          synced[Math.max(round, 0)] = System.nanoTime() - start;
        } else {
          collective.sync().receive(parameters, route, SyncProgress.NONE);
        }
        group.allGather("synced", new byte[0]);
      }
    }
  }

  private double ratio() {
    return (double) median(synced) / median(copied);
  }

  private static long median(long[] nanos) {
    return Arrays.stream(nanos).sorted().toArray()[nanos.length / 2];
  }
}
