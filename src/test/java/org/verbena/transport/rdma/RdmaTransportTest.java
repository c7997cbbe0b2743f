package org.verbena.transport.rdma;

import org.junit.jupiter.api.AfterEach;
import org.verbena.transport.TransportContract;
import org.verbena.transport.TransportProvider;
import org.verbena.verbs.Fabric;

class RdmaTransportTest extends TransportContract {
  private final Fabric fabric = new Fabric(7);

  @AfterEach
  void close() {
    fabric.close();
  }

  @Override
  protected TransportProvider provider() {
    RdmaSettings settings = RdmaSettings.builder().reads(true).atomics(true).build();
    return new RdmaProvider(settings, fabric::open);
  }
}
