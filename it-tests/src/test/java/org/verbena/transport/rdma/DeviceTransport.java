package org.verbena.transport.rdma;

import org.verbena.transport.TransportContract;
import org.verbena.transport.TransportProvider;

/** The contract on a node's own device; run inside a node. */
class DeviceTransport extends TransportContract {
  @Override
  protected TransportProvider provider() {
    return new RdmaProvider(RdmaSettings.builder().reads(true).atomics(true).build());
  }
}
