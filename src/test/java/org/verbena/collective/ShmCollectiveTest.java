package org.verbena.collective;

import java.nio.file.Path;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.shm.ShmTransport;

/** All moves over shared memory. */
class ShmCollectiveTest {
  @TempDir Path directory;

  @Nested
  class Counters extends CountersContract {
    @Override
    TransportProvider provider() {
      return ShmTransport.provider(directory);
    }
  }

  @Nested
  class Links extends LinksContract {
    @Override
    TransportProvider provider() {
      return ShmTransport.provider(directory);
    }
  }

  @Nested
  class Gathers extends GatherContract {
    @Override
    TransportProvider provider() {
      return ShmTransport.provider(directory);
    }
  }

  @Nested
  class Syncs extends SyncContract {
    @Override
    TransportProvider provider() {
      return ShmTransport.provider(directory);
    }
  }
}
