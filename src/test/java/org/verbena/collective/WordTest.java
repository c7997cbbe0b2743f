package org.verbena.collective;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Words and checksums at their limits. */
class WordTest {
  @ParameterizedTest
  @ValueSource(
      longs = {0, 1, Integer.MAX_VALUE, 1L << 31, (1L << 32) - 1, 1L << 32, (1L << 40) + 5})
  void aMessageIsKnownByItsNumberAndTellsItsLength(long number) {
    for (int bytes : new int[] {0, 1, Integer.MAX_VALUE}) {
      long word = Ready.word(number, bytes);
      assertThat(Ready.isOf(number, word)).isTrue();
      assertThat(Ready.bytes(word)).isEqualTo(bytes);
      assertThat(Ready.isOf(number + 1, word)).isFalse();
      assertThat(Ready.isOf(number - 1, word)).isFalse();
    }
    assertThat(Ready.isOf(number, 0)).isFalse();
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, (1 << 23) - 1, 1 << 23, (1 << 24) - 1, 1 << 24, (1 << 24) + 1})
  void aChunkIsKnownByItsSyncNumberAndAttempt(long sync) {
    for (long number : new long[] {0, 1, 1L << 31, (1L << 32) - 1}) {
      long word = SyncWord.chunk(sync, number, 3);
      assertThat(SyncWord.attempt(word, sync, number)).isEqualTo(3);
      assertThat(SyncWord.attempt(word, sync + 1, number)).isEqualTo(-1);
      assertThat(SyncWord.attempt(word, sync, number ^ 1)).isEqualTo(-1);
      assertThat(SyncWord.number(word, sync)).isEqualTo(number);
      assertThat(SyncWord.number(word, sync + 1)).isZero();
    }
    assertThat(SyncWord.attempt(0, sync, 0)).isEqualTo(-1);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, (1 << 23) - 1, (1 << 24) - 1, (1 << 24) + 1})
  void aStatusIsReachedByLaterOnesAndByLaterSyncs(long sync) {
    long complete = SyncWord.status(sync, SyncWord.COMPLETE);
    assertThat(SyncWord.hasReached(complete, sync, SyncWord.COMPLETE)).isTrue();
    assertThat(SyncWord.hasReached(complete, sync, SyncWord.COMMIT)).isFalse();
    assertThat(SyncWord.hasReached(complete, sync + 1, SyncWord.COMPLETE)).isFalse();
    long committed = SyncWord.status(sync, SyncWord.COMMITTED);
    assertThat(SyncWord.hasReached(committed, sync, SyncWord.COMPLETE)).isTrue();
    long later = SyncWord.status(sync + 1, SyncWord.ABORT);
    assertThat(SyncWord.hasReached(later, sync, SyncWord.COMMITTED)).isTrue();
    assertThat(SyncWord.isAbort(later, sync)).isFalse();
    long abort = SyncWord.status(sync, SyncWord.ABORT);
    assertThat(SyncWord.hasReached(abort, sync, SyncWord.COMPLETE)).isFalse();
    assertThat(SyncWord.isAbort(abort, sync)).isTrue();
    assertThat(SyncWord.hasReached(0, sync, SyncWord.COMPLETE)).isFalse();
  }

  @Test
  void checksumsOfBlocksGiveTheChecksumOfTheWhole() {
    long seed = new Random().nextLong();
    Random random = new Random(seed);
    for (int i = 0; i < 200; i++) {
      byte[] bytes = new byte[random.nextInt(100_000)];
      random.nextBytes(bytes);
      int cut = random.nextInt(bytes.length + 1);
      int combined =
          Crc.combine(sum(bytes, 0, cut), sum(bytes, cut, bytes.length - cut), bytes.length - cut);
      assertThat(combined).as("seed %d, block %d", seed, i).isEqualTo(sum(bytes, 0, bytes.length));
    }
  }

  private static int sum(byte[] bytes, int from, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, from, length);
    return (int) crc.getValue();
  }
}
