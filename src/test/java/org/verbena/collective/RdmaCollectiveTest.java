package org.verbena.collective;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.rdma.FabricProvider;
import org.verbena.transport.rdma.RdmaSettings;
import org.verbena.verbs.Fabric;

/** All moves over RDMA, and over RDMA and shared memory mixed, on a stand-in for the devices. */
class RdmaCollectiveTest {
  private static final RdmaSettings SETTINGS =
      RdmaSettings.builder().reads(true).atomics(true).build();

  @TempDir Path directory;

  private final Fabric fabric = new Fabric(7);

  @BeforeEach
  void makeHosts() throws IOException {
    for (int host = 0; host < 3; host++) {
      Files.createDirectories(directory.resolve("host" + host));
    }
  }

  @AfterEach
  void close() {
    fabric.close();
  }

  private TransportProvider rdma() {
    return FabricProvider.rdma(fabric, SETTINGS);
  }

  /** Ranks 0 and 1 share a host, and so do 2 and 3. */
  private TransportProvider mixed() {
    return FabricProvider.mixed(fabric, SETTINGS, directory, rank -> rank / 2);
  }

  @Nested
  class Counters extends CountersContract {
    @Override
    TransportProvider provider() {
      return rdma();
    }
  }

  @Nested
  class MixedCounters extends CountersContract {
    @Override
    TransportProvider provider() {
      return mixed();
    }
  }

  @Nested
  class Links extends LinksContract {
    @Override
    TransportProvider provider() {
      return rdma();
    }
  }

  @Nested
  class MixedLinks extends LinksContract {
    @Override
    TransportProvider provider() {
      return mixed();
    }
  }

  @Nested
  class Gathers extends GatherContract {
    @Override
    TransportProvider provider() {
      return rdma();
    }
  }

  @Nested
  class MixedGathers extends GatherContract {
    @Override
    TransportProvider provider() {
      return mixed();
    }
  }

  @Nested
  class Syncs extends SyncContract {
    @Override
    TransportProvider provider() {
      return rdma();
    }
  }

  @Nested
  class MixedSyncs extends SyncContract {
    @Override
    TransportProvider provider() {
      return mixed();
    }
  }
}
