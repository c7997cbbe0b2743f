package org.verbena.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.function.LongConsumer;
import org.verbena.bootstrap.Group;

/** Counts what threads allocate on the Java heap. */
public final class Allocations {
  private static final int ROUNDS = 200;
  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private Allocations() {}

  /**
   * Code allocates until Java has compiled it; then no thread may, for many rounds. All ranks of
   * the group call this.
   */
  public static void untilSteady(Group group, LongConsumer round) {
    assertThat(THREADS.isThreadAllocatedMemoryEnabled()).isTrue();
    assertThat(countsWhatIsAllocated()).isPositive();
    long deadline = System.nanoTime() + LIMIT.toNanos();
    long allocated = Long.MAX_VALUE;
    while (allocated > 0) {
      assertThat(System.nanoTime())
          .as("deadline: all ranks still allocate %d bytes in %d rounds", allocated, ROUNDS)
          .isLessThan(deadline);
      long before = THREADS.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < ROUNDS; i++) {
        round.accept(i);
      }
      long mine = THREADS.getCurrentThreadAllocatedBytes() - before;
      byte[] bytes = ByteBuffer.allocate(Long.BYTES).putLong(mine).array();
      allocated =
          group.allGather("allocated", bytes).stream()
              .mapToLong(rank -> ByteBuffer.wrap(rank).getLong())
              .sum();
    }
  }

  private static long countsWhatIsAllocated() {
    long before = THREADS.getCurrentThreadAllocatedBytes();
    byte[] garbage = new byte[1000];
    return THREADS.getCurrentThreadAllocatedBytes() - before - garbage.length;
  }
}
