package org.verbena.transport.sim;

import org.verbena.transport.TransportContract;
import org.verbena.transport.TransportProvider;

/** The simulated transport keeps the contract of the real ones. */
class LateTransportTest extends TransportContract {
  @Override
  protected TransportProvider provider() {
    return new LateProvider(1);
  }
}
