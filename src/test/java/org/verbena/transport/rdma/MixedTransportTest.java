package org.verbena.transport.rdma;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.transport.TransportContract;
import org.verbena.transport.TransportProvider;
import org.verbena.verbs.Fabric;

/** A mixed group: ranks 0 and 1 share a host, and 2 and 3. */
class MixedTransportTest extends TransportContract {
  private final Fabric fabric = new Fabric(17);

  @TempDir Path folder;

  @BeforeEach
  void makeHosts() throws Exception {
    for (int host = 0; host < 3; host++) {
      Files.createDirectories(folder.resolve("host" + host));
    }
  }

  @AfterEach
  void close() {
    fabric.close();
  }

  @Override
  protected TransportProvider provider() {
    RdmaSettings settings = RdmaSettings.builder().reads(true).atomics(true).build();
    return FabricProvider.mixed(fabric, settings, folder, rank -> rank / 2);
  }
}
