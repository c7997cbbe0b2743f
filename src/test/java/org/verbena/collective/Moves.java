package org.verbena.collective;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.verbena.acceptance.Ranks;
import org.verbena.bootstrap.Group;
import org.verbena.transport.TransportProvider;

/** What the contracts of all moves have in common. */
abstract class Moves {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** Makes the transport under test. */
  abstract TransportProvider provider();

  /** Makes a rank leave in the middle of something: as hard as this transport can. */
  void lose(Collective collective) {
    collective.close();
  }

  /** One rank's part of a test. */
  @FunctionalInterface
  interface Part {
    void run(Group group, Collective collective) throws Exception;
  }

  final void run(int ranks, CollectiveConfig.Builder config, Part part) throws Exception {
    Ranks.run(
        ranks,
        group -> {
          try (Collective collective = open(group, provider(), config)) {
            part.run(group, collective);
            group.allGather("end of test", new byte[0]);
          }
        });
  }

  static Collective open(Group group, TransportProvider provider, CollectiveConfig.Builder config) {
    return Collective.open(group, provider, config.timeout(LIMIT).build());
  }

  static void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + LIMIT.toNanos();
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("deadline of: " + what).isLessThan(deadline);
      Thread.onSpinWait();
    }
  }
}
