package org.verbena.moe;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.rdma.FabricProvider;
import org.verbena.transport.rdma.RdmaSettings;
import org.verbena.transport.rdma.SignalKind;
import org.verbena.verbs.Fabric;

/** The exchange over RDMA, on a network of this process, with every kind of signal. */
@ParameterizedClass
@EnumSource(value = SignalKind.class, mode = EnumSource.Mode.EXCLUDE, names = "ATOMIC_WRITE")
class RdmaExchangeTest extends ExchangeContract {
  private final SignalKind signal;
  private final Fabric fabric = new Fabric(11);

  RdmaExchangeTest(SignalKind signal) {
    this.signal = signal;
  }

  @AfterEach
  void close() {
    fabric.close();
  }

  @Override
  TransportProvider provider() {
    RdmaSettings settings = RdmaSettings.builder().signal(signal).queueDepth(16).build();
    return FabricProvider.rdma(fabric, settings);
  }
}
