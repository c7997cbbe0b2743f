package org.verbena.bootstrap;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What every {@link Group} keeps. */
@Timeout(120)
abstract class GroupContract {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final Duration SHORT = Duration.ofMillis(300);

  /** The members of a new group, in rank order. */
  abstract List<? extends Group> members(int size, Duration timeout) throws Exception;

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 8})
  void everyRankGetsTheBytesOfEveryRankInRankOrder(int size) throws Exception {
    var group = members(size, LONG);
    int rounds = 50;
    var outcomes =
        Members.run(
            size,
            rank ->
                () -> {
                  StringBuilder seen = new StringBuilder();
                  for (int round = 0; round < rounds; round++) {
                    String mine = round + ":" + rank + "x".repeat(rank);
                    for (byte[] part : group.get(rank).allGather("words", mine.getBytes(UTF_8))) {
                      seen.append(new String(part, UTF_8)).append(' ');
                    }
                  }
                  return seen.toString();
                });
    StringBuilder expected = new StringBuilder();
    for (int round = 0; round < rounds; round++) {
      for (int rank = 0; rank < size; rank++) {
        expected.append(round).append(':').append(rank).append("x".repeat(rank)).append(' ');
      }
    }
    assertThat(outcomes).allSatisfy(o -> assertThat(o.result()).isEqualTo(expected.toString()));
    group.forEach(Group::close);
  }

  @Test
  void largePartsPassAndTooLargeOnesAreRefusedBeforeAnythingIsSent() throws Exception {
    var group = members(3, LONG);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> group.get(1).allGather("keys", new byte[Group.MAX_PART_BYTES + 1]))
        .withMessageContaining("16777217")
        .withMessageContaining("16777216");
    byte[] large = new byte[Group.MAX_PART_BYTES];
    Arrays.fill(large, (byte) 7);
    var outcomes =
        Members.run(
            3, rank -> () -> group.get(rank).allGather("keys", rank == 1 ? large : new byte[0]));
    for (var outcome : outcomes) {
      assertThat(outcome.result().get(0)).isEmpty();
      assertThat(Arrays.equals(outcome.result().get(1), large)).isTrue();
      assertThat(outcome.result().get(2)).isEmpty();
    }
    group.forEach(Group::close);
  }

  @Test
  void agreementPassesAndDisagreementNamesFieldRanksAndValuesOnEveryRank() throws Exception {
    var group = members(3, LONG);
    var outcomes =
        Members.run(
            3,
            rank ->
                () -> {
                  group.get(rank).agree(fields("hidden", "7168", "topk", "8"));
                  group.get(rank).agree(fields("hidden", rank == 2 ? "4096" : "7168", "topk", "8"));
                  return "passed";
                });
    for (var outcome : outcomes) {
      assertThat(outcome.failure())
          .isInstanceOf(GroupException.class)
          .hasMessageContaining("hidden is 7168 on ranks 0, 1, 4096 on rank 2")
          .hasMessageNotContaining("topk");
    }
    // A disagreement does not break the group.
    var after = Members.run(3, rank -> () -> group.get(rank).allGather("after", new byte[0]));
    assertThat(after).allSatisfy(o -> assertThat(o.result()).hasSize(3));
    group.forEach(Group::close);
  }

  @Test
  void aFieldThatOneRankLacksIsADisagreement() throws Exception {
    var group = members(2, LONG);
    var outcomes =
        Members.run(
            2,
            rank ->
                () -> {
                  group
                      .get(rank)
                      .agree(rank == 0 ? fields("wire", "1", "scale", "2") : fields("wire", "1"));
                  return "passed";
                });
    for (var outcome : outcomes) {
      assertThat(outcome.failure())
          .hasMessageContaining("scale is 2 on rank 0, (not given) on rank 1");
    }
    group.forEach(Group::close);
  }

  @Test
  void ranksThatAreMissingAtTheDeadlineAreNamed() throws Exception {
    var group = members(4, SHORT);
    var outcomes = Members.run(2, rank -> () -> group.get(rank).allGather("window", new byte[1]));
    for (var outcome : outcomes) {
      assertThat(outcome.failure())
          .isInstanceOf(GroupException.class)
          .hasMessageContaining("'window'")
          .hasMessageContaining("ranks 2, 3")
          .hasMessageContaining("0.3 s");
    }
    // Broken from now on, also for those that were late.
    for (Group member : group) {
      assertThatThrownBy(() -> member.allGather("window", new byte[1]))
          .isInstanceOf(GroupException.class);
    }
    group.forEach(Group::close);
  }

  @Test
  void aRankThatHasLeftIsNamed() throws Exception {
    var group = members(3, LONG);
    group.get(2).close();
    group.get(2).close();
    var outcomes = Members.run(2, rank -> () -> group.get(rank).allGather("window", new byte[1]));
    for (var outcome : outcomes) {
      assertThat(outcome.failure()).hasMessageContaining("rank 2 has left the group");
    }
    assertThatThrownBy(() -> group.get(2).allGather("window", new byte[1]))
        .hasMessageContaining("closed");
    group.forEach(Group::close);
  }

  @Test
  void theFirstRankToLeaveIsNamedToo() throws Exception {
    var group = members(2, LONG);
    Members.run(2, rank -> () -> group.get(rank).allGather("last", new byte[1]));
    group.get(0).close();
    assertThatThrownBy(() -> group.get(1).allGather("window", new byte[1]))
        .hasMessageContaining("rank 0 has left the group");
    group.get(1).close();
  }

  @Test
  void ranksInDifferentOperationsAreToldBoth() throws Exception {
    var group = members(2, LONG);
    var outcomes =
        Members.run(
            2, rank -> () -> group.get(rank).allGather(rank == 0 ? "keys" : "window", new byte[0]));
    for (var outcome : outcomes) {
      assertThat(outcome.failure())
          .hasMessageContaining("'keys'")
          .hasMessageContaining("'window'")
          .hasMessageContaining("same order");
    }
    group.forEach(Group::close);
  }

  @Test
  void anInterruptEndsTheCallAndStays() throws Exception {
    var group = members(2, LONG);
    CountDownLatch done = new CountDownLatch(1);
    boolean[] interrupted = new boolean[1];
    Throwable[] failure = new Throwable[1];
    Thread waiting =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    group.get(1).allGather("window", new byte[0]);
                  } catch (GroupException e) {
                    failure[0] = e;
                    interrupted[0] = Thread.currentThread().isInterrupted();
                  }
                  done.countDown();
                });
    waiting.interrupt();
    done.await();
    assertThat(failure[0]).hasMessageContaining("interrupted");
    assertThat(interrupted[0]).isTrue();
    group.forEach(Group::close);
  }

  private static SequencedMap<String, String> fields(String... namesAndValues) {
    SequencedMap<String, String> fields = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      fields.put(namesAndValues[i], namesAndValues[i + 1]);
    }
    return fields;
  }
}
