package org.verbena.moe;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.verbena.moe.ExchangeConfig.CombineOrder;
import org.verbena.transport.rdma.RdmaProvider;
import org.verbena.transport.rdma.RdmaSettings;

/** A steady round over a node's own device allocates nothing; run inside a node. */
public class DeviceAllocation {
  /** Made by the launcher. */
  public DeviceAllocation() {}

  @ParameterizedTest
  @EnumSource(CombineOrder.class)
  void aSteadyRoundAllocatesNothing(CombineOrder order) throws Exception {
    AllocationTest.rounds(new RdmaProvider(RdmaSettings.DEFAULTS), order);
  }
}
