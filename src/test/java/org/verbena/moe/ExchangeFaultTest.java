package org.verbena.moe;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.verbena.moe.ExchangeConfig.CombineOrder;
import org.verbena.moe.Search.Arrival;
import org.verbena.moe.Step.Call;
import org.verbena.moe.Step.Kind;
import org.verbena.transport.sim.ProtocolViolation;

/** Deliberate faults: each must be found, and where it can't do harm nothing may be found. */
class ExchangeFaultTest {
  private static final int ALL_ROWS = 0b11_11;
  private static final int OWN_ROWS = 0b10_01;
  private static final int SCHEDULES = 500;

  @Test
  void closingSignalsOnlyWhereRowsWent() {
    Fault fault = Fault.CLOSING_ONLY_WHERE_ROWS_WENT;
    assertThatCode(search(fault, 2, true, OWN_ROWS)).doesNotThrowAnyException();
    assertThatCode(search(fault, 4, true, ALL_ROWS)).doesNotThrowAnyException();
    assertThatThrownBy(search(fault, 3, true, OWN_ROWS))
        .hasMessageContaining("signal of epoch 3")
        .hasMessageContaining("may overwrite the DISPATCH signal of epoch 1");
  }

  @Test
  void signalsWithoutEpoch() {
    Fault fault = Fault.SIGNALS_WITHOUT_EPOCH;
    assertThatCode(search(fault, 2, true, ALL_ROWS)).doesNotThrowAnyException();
    assertThatThrownBy(search(fault, 3, true, ALL_ROWS))
        .hasMessageContaining("RECEIVE_DISPATCH of 3 takes signals for its own that are not");
  }

  @Test
  void combineSentTakenForCombineReceived() {
    Fault fault = Fault.REUSE_AFTER_COMBINE_SENT;
    assertThatCode(search(fault, 2, true, OWN_ROWS)).doesNotThrowAnyException();
    assertThatThrownBy(search(fault, 3, true, OWN_ROWS))
        .hasMessageContaining("may overwrite the DISPATCH signal of epoch 1");
  }

  @Test
  void halfReusedOneRoundEarly() {
    Fault fault = Fault.REUSE_ONE_ROUND_EARLY;
    assertThatCode(search(fault, 2, false, ALL_ROWS)).doesNotThrowAnyException();
    assertThatThrownBy(search(fault, 3, false, ALL_ROWS)).hasMessageContaining("may overwrite");
  }

  @Test
  void completionsIgnoredInTheCompactLayout() {
    Fault fault = Fault.COMPLETIONS_IGNORED;
    assertThatCode(search(fault, 2, false, ALL_ROWS)).doesNotThrowAnyException();
    assertThatThrownBy(search(fault, 1, true, ALL_ROWS))
        .hasMessageContaining("rewrote the memory that leaves with the DISPATCH write of epoch 1");
  }

  @Test
  void dispatchReceivedBeforeTheCombineWasSent() {
    Fault fault = Fault.RECEIVE_BEFORE_COMBINE_SENT;
    assertThatCode(search(fault, 1, true, ALL_ROWS)).doesNotThrowAnyException();
    assertThatThrownBy(search(fault, 2, true, ALL_ROWS)).hasMessageContaining("deadlock");
  }

  /** One rank receives two dispatches in a row, the other does round after round. */
  @Test
  void ranksThatWaitInDifferentOrdersWaitForever() {
    Scenario scenario = Scenarios.tiny(2, 2, 2, false, CombineOrder.IN_ORDER, ALL_ROWS);
    Call second = new Call(0, Kind.RECEIVE_DISPATCH, 2);
    Call first = new Call(1, Kind.RECEIVE_COMBINE, 1);
    try (Simulation simulation = bothBegun(scenario, Fault.RECEIVE_BEFORE_COMBINE_SENT)) {
      assertThatThrownBy(simulation::checkProgress)
          .hasMessage("deadlock: [" + second + ", " + first + "]");
      assertThatThrownBy(() -> simulation.run(second)).isInstanceOf(Waiting.class);
      assertThatThrownBy(() -> simulation.run(first)).isInstanceOf(Waiting.class);
    }
    try (Simulation simulation = bothBegun(scenario, Fault.NONE)) {
      assertThatThrownBy(() -> simulation.run(second))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("send the combine of epoch 1 first");
      assertThatCode(simulation::checkProgress).doesNotThrowAnyException();
    }
  }

  private static final class Waiting extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  private static Simulation bothBegun(Scenario scenario, Fault fault) {
    Simulation simulation = new Simulation(scenario, fault);
    simulation.whileWaiting(
        () -> {
          throw new Waiting();
        });
    simulation.run(new Call(0, Kind.SEND_DISPATCH, 1));
    simulation.run(new Call(0, Kind.SEND_DISPATCH, 2));
    simulation.run(new Call(1, Kind.SEND_DISPATCH, 1));
    simulation.network().settle();
    simulation.run(new Call(0, Kind.RECEIVE_DISPATCH, 1));
    simulation.run(new Call(1, Kind.RECEIVE_DISPATCH, 1));
    simulation.run(new Call(1, Kind.SEND_COMBINE, 1));
    simulation.network().settle();
    return simulation;
  }

  @ParameterizedTest
  @EnumSource(names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void randomSchedulesFindItToo(Fault fault) {
    assertThatThrownBy(
            () -> {
              for (int seed = 0; seed < SCHEDULES; seed++) {
                RandomSchedule.run(seed, fault);
              }
            })
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("seed")
        .hasCauseInstanceOf(ProtocolViolation.class);
  }

  /** Where nothing is reduced, the faults show as well. */
  @ParameterizedTest
  @EnumSource(
      names = {
        "CLOSING_ONLY_WHERE_ROWS_WENT",
        "SIGNALS_WITHOUT_EPOCH",
        "REUSE_AFTER_COMBINE_SENT",
        "REUSE_ONE_ROUND_EARLY",
        "RECEIVE_BEFORE_COMBINE_SENT"
      })
  void everyOrderOfArrivalsFindsItToo(Fault fault) {
    Scenario scenario = Scenarios.tiny(2, 3, 2, true, CombineOrder.IN_ORDER, 0);
    assertThatThrownBy(() -> Search.run(scenario, fault, Arrival.ANY))
        .isInstanceOf(AssertionError.class)
        .hasCauseInstanceOf(ProtocolViolation.class);
  }

  private static ThrowingCallable search(Fault fault, int rounds, boolean compact, int pattern) {
    Scenario scenario = Scenarios.tiny(2, rounds, 2, compact, CombineOrder.IN_ORDER, pattern);
    return () -> Search.run(scenario, fault, Arrival.LATE);
  }
}
