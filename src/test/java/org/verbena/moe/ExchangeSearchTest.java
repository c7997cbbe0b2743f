package org.verbena.moe;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.moe.ExchangeConfig.CombineOrder;
import org.verbena.moe.Search.Arrival;

/** Small groups, in every order that is legal. */
class ExchangeSearchTest {
  @ParameterizedTest
  @CsvSource({"IN_ORDER,true", "IN_ORDER,false", "ANY_ORDER,true", "ANY_ORDER,false"})
  void twoRanksFourRounds(CombineOrder order, boolean compact) {
    for (int pattern = 0; pattern < 16; pattern++) {
      search(Scenarios.tiny(2, 4, 2, compact, order, pattern), 1000);
    }
  }

  @ParameterizedTest
  @EnumSource
  void twoRanksFourRoundsEachOfAnotherPattern(CombineOrder order) {
    Random random = new Random(4);
    for (int i = 0; i < 8; i++) {
      int[] patterns = random.ints(4, 0, 16).toArray();
      search(Scenarios.tiny(2, 4, 2, i % 2 == 0, order, patterns), 1000);
    }
  }

  @ParameterizedTest
  @EnumSource
  void twoRanksFourRoundsInPlace(CombineOrder order) {
    search(Scenarios.tinyInPlace(2, 4, order, 15), 1000);
    search(Scenarios.tinyInPlace(2, 4, order, 6, 9), 1000);
    search(Scenarios.tinyInPlace(2, 4, order, 2, 0, 13), 1000);
  }

  @ParameterizedTest
  @EnumSource
  void twoRanksFourRoundsInChunks(CombineOrder order) {
    search(Scenarios.tinyChunks(2, 4, order, 15, 6), 1000);
    search(Scenarios.tinyChunks(2, 4, order, 9, 2, 0), 1000);
  }

  @ParameterizedTest
  @EnumSource
  void twoRanksFourRoundsInOneHalf(CombineOrder order) {
    for (int pattern = 0; pattern < 16; pattern++) {
      search(Scenarios.tiny(2, 4, 1, pattern % 2 == 0, order, pattern, 15 - pattern), 50);
    }
  }

  /** Flags are cleared on the way, and the low half of an epoch overflows. */
  @ParameterizedTest
  @ValueSource(longs = {Signal.FLAG_PERIOD - 2, (1L << 31) - 2, (1L << 32) - 2})
  void twoRanksFourRoundsWhereEpochsAreSpecial(long firstEpoch) {
    for (CombineOrder order : CombineOrder.values()) {
      search(Scenarios.tiny(2, 4, 2, false, order, 15, 6).from(firstEpoch), 1000);
      search(Scenarios.tiny(2, 4, 1, false, order, 15, 6).from(firstEpoch), 50);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "IN_ORDER,true,0b111_111_111,0b111_111_111",
    "ANY_ORDER,false,0b010_001_100,0b000_000_000",
    "IN_ORDER,false,0b100_000_110,0b001_011_000"
  })
  void threeRanksThreeRounds(CombineOrder order, boolean compact, String odd, String even) {
    search(Scenarios.tiny(3, 3, 2, compact, order, binary(odd), binary(even)), 10_000);
    search(Scenarios.tiny(3, 3, 1, compact, order, binary(odd), binary(even)), 100);
  }

  private static int binary(String pattern) {
    return Integer.parseInt(pattern.substring(2).replace("_", ""), 2);
  }

  /** Without the reduction: each arrival and completion is a step of its own. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void everyOrderOfArrivals(boolean compact) {
    for (CombineOrder order : CombineOrder.values()) {
      searchAll(Scenarios.tiny(2, 1, 2, compact, order, 6), 500);
      searchAll(Scenarios.tiny(2, 2, 2, compact, order, 2, 0), 5000);
      searchAll(Scenarios.tiny(2, 3, 2, compact, order, 0), 5000);
    }
  }

  private static void search(Scenario scenario, int least) {
    assertThat(Search.run(scenario, Fault.NONE, Arrival.LATE)).isGreaterThan(least);
    assertThat(Search.run(scenario, Fault.NONE, Arrival.EARLY)).isGreaterThan(least / 10);
  }

  private static void searchAll(Scenario scenario, int least) {
    assertThat(Search.run(scenario, Fault.NONE, Arrival.ANY)).isGreaterThan(least);
  }
}
