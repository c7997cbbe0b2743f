package org.verbena.collective;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.verbena.transport.PeerException;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.sim.LateProvider;

/**
 * All moves over a transport without direct peers, on which all is late and ranks can be killed.
 */
class LateCollectiveTest {
  private final LateProvider provider = new LateProvider(5);

  @Nested
  class Counters extends CountersContract {
    @Override
    TransportProvider provider() {
      return provider;
    }

    @Test
    void aCounterOfALostRankIsReportedAndOthersGoOn() throws Exception {
      run(
          3,
          CollectiveConfig.builder().counters(3),
          (group, collective) -> {
            if (group.rank() == 2) {
              provider.kill(2);
            }
            group.allGather("killed", new byte[0]);
            if (group.rank() < 2) {
              collective.counters().fetchAndAdd(0, 1);
              assertThatThrownBy(() -> collective.counters().fetchAndAdd(2, 1))
                  .isInstanceOfSatisfying(
                      PeerException.class, e -> assertThat(e.peer()).isEqualTo(2))
                  .hasMessageContaining("fetch and add");
            }
          });
    }
  }

  @Nested
  class Links extends LinksContract {
    @Override
    TransportProvider provider() {
      return provider;
    }

    @Override
    void lose(Collective collective) {
      provider.kill(collective.rank());
    }
  }

  @Nested
  class Gathers extends GatherContract {
    @Override
    TransportProvider provider() {
      return provider;
    }

    @Override
    void lose(Collective collective) {
      provider.kill(collective.rank());
    }
  }

  @Nested
  class Syncs extends SyncContract {
    @Override
    TransportProvider provider() {
      return provider;
    }

    @Override
    void lose(Collective collective) {
      provider.kill(collective.rank());
    }
  }
}
