package org.verbena.moe;

import org.junit.jupiter.api.Test;

/**
 * Groups of up to 5 ranks and 8 rounds, in orders that chance decides. With {@code
 * -Dverbena.schedule=SEED} only the schedule of that seed is run, to repeat a failure.
 */
class ExchangeScheduleTest {
  private static final int SCHEDULES = 10_000;

  @Test
  void tenThousandSchedules() {
    Long seed = Long.getLong("verbena.schedule");
    if (seed != null) {
      RandomSchedule.run(seed, Fault.NONE);
      return;
    }
    for (long i = 0; i < SCHEDULES; i++) {
      RandomSchedule.run(i, Fault.NONE);
    }
  }
}
