package org.verbena.moe;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.rdma.FabricProvider;
import org.verbena.transport.rdma.RdmaSettings;
import org.verbena.verbs.Fabric;

/** The exchange in a mixed group: ranks 0, 1 and 2, 3 share a host, and so on. */
class MixedExchangeTest extends ExchangeContract {
  private final Fabric fabric = new Fabric(13);

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
  TransportProvider provider() {
    return FabricProvider.mixed(fabric, RdmaSettings.DEFAULTS, folder, rank -> rank / 2);
  }
}
