package org.verbena.transport.rdma;

import java.nio.file.Path;
import java.util.function.IntUnaryOperator;
import org.verbena.bootstrap.Group;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.shm.ShmTransport;
import org.verbena.verbs.Fabric;

/** Transports over a network of this process. */
public final class FabricProvider {
  private FabricProvider() {}

  public static TransportProvider rdma(Fabric fabric, RdmaSettings settings) {
    return new RdmaProvider(settings, fabric::open);
  }

  /**
   * Ranks of which only those share memory that are on the same host.
   *
   * @param host of a rank
   * @param folder that holds one folder per host
   */
  public static TransportProvider mixed(
      Fabric fabric, RdmaSettings settings, Path folder, IntUnaryOperator host) {
    return new MixedProvider(
        settings,
        fabric::open,
        (Group group, Long bytes) ->
            ShmTransport.openPartly(
                folder.resolve("host" + host.applyAsInt(group.rank())), group, bytes));
  }
}
