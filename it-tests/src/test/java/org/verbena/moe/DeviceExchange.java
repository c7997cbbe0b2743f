package org.verbena.moe;

import org.verbena.transport.TransportProvider;
import org.verbena.transport.rdma.RdmaProvider;
import org.verbena.transport.rdma.RdmaSettings;

/** The contract on a node's own device; run inside a node. */
public class DeviceExchange extends ExchangeContract {
  /** Made by the launcher. */
  public DeviceExchange() {}

  @Override
  TransportProvider provider() {
    return new RdmaProvider(RdmaSettings.DEFAULTS);
  }
}
