package org.verbena.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.verbena.bootstrap.Group;

/** What shared counters must do over any transport. */
abstract class CountersContract extends Moves {
  private static CollectiveConfig.Builder counters(int count) {
    return CollectiveConfig.builder().counters(count);
  }

  @Test
  void everyAdditionCountsOnceOnEachCounter() throws Exception {
    int ranks = 3;
    int additions = 100;
    run(
        ranks,
        counters(7),
        (group, collective) -> {
          SharedCounters counters = collective.counters();
          List<Long> mine = new ArrayList<>();
          for (int i = 0; i < additions; i++) {
            mine.add(counters.fetchAndAdd(4, 1));
            counters.fetchAndAdd(i % 3, -(1L << 40));
          }
          assertThat(gather(group, mine))
              .containsExactlyInAnyOrderElementsOf(
                  LongStream.range(0, (long) ranks * additions).boxed().toList());
          assertThat(counters.get(4)).isEqualTo((long) ranks * additions);
          assertThat(counters.get(0)).isEqualTo(-(1L << 40) * ranks * 34);
          assertThat(counters.get(6)).isZero();
        });
  }

  @Test
  void swapsOfAllRanksFollowOneAnother() throws Exception {
    int ranks = 3;
    int swaps = 40;
    run(
        ranks,
        counters(2),
        (group, collective) -> {
          SharedCounters counters = collective.counters();
          for (int i = 0; i < swaps; i++) {
            long found = counters.get(1);
            for (long expected = found + 1; found != expected; ) {
              expected = found;
              found = counters.compareAndSwap(1, expected, expected + 3);
            }
          }
          group.allGather("swapped", new byte[0]);
          assertThat(counters.get(1)).isEqualTo(3L * ranks * swaps);
          assertThat(counters.get(0)).isZero();
        });
  }

  /** A queue over ranks: the next item is the counter's, whoever asks and however fast. */
  @Test
  void aWorkQueueHandsOutEachItemOnce() throws Exception {
    long items = 200;
    run(
        4,
        counters(1),
        (group, collective) -> {
          List<Long> mine = new ArrayList<>();
          long item = collective.counters().fetchAndAdd(0, 1);
          while (item < items) {
            mine.add(item);
            // The first rank is slow: it looks at each item many times.
            for (int i = 0; group.rank() == 0 && i < 20; i++) {
              assertThat(collective.counters().get(0)).isGreaterThan(item);
            }
            item = collective.counters().fetchAndAdd(0, 1);
          }
          assertThat(gather(group, mine))
              .containsExactlyInAnyOrderElementsOf(LongStream.range(0, items).boxed().toList());
        });
  }

  @Test
  void anInterruptNeitherRepeatsNorLosesAnAddition() throws Exception {
    run(
        2,
        counters(1),
        (group, collective) -> {
          for (int i = 0; i < 20; i++) {
            Thread.currentThread().interrupt();
            collective.counters().fetchAndAdd(0, 1);
            assertThat(Thread.interrupted()).isTrue();
          }
          group.allGather("added", new byte[0]);
          assertThat(collective.counters().get(0)).isEqualTo(40);
        });
  }

  @Test
  void whatIsNotThereIsRefused() throws Exception {
    run(
        2,
        counters(3),
        (group, collective) -> {
          assertThat(collective.counters().count()).isEqualTo(3);
          assertThatThrownBy(() -> collective.counters().get(3))
              .isInstanceOf(IndexOutOfBoundsException.class)
              .hasMessageContaining("counter must be from 0 to 2, but is 3");
          assertThatThrownBy(collective::sync).isInstanceOf(IllegalStateException.class);
          assertThatThrownBy(collective::gather)
              .hasMessageContaining("rank " + group.rank() + ": no gather was configured");
          collective.close();
          assertThatThrownBy(() -> collective.counters().get(0))
              .isInstanceOf(IllegalStateException.class)
              .hasMessageContaining("it is closed");
        });
  }

  private static List<Long> gather(Group group, List<Long> mine) {
    ByteBuffer bytes = ByteBuffer.allocate(Long.BYTES * mine.size());
    mine.forEach(bytes::putLong);
    List<Long> all = new ArrayList<>();
    for (byte[] part : group.allGather("values", bytes.array())) {
      for (ByteBuffer values = ByteBuffer.wrap(part); values.hasRemaining(); ) {
        all.add(values.getLong());
      }
    }
    return all;
  }
}
