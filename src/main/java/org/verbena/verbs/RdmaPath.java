package org.verbena.verbs;

/**
 * Where a connection leaves this host.
 *
 * @param device the device's name
 * @param port its port
 * @param gidIndex place of {@code gid} in the port's table, from 0
 * @param gid this end's identifier; zero only on InfiniBand
 * @param gidType the protocol
 */
public record RdmaPath(String device, PortAttributes port, int gidIndex, Gid gid, GidType gidType) {
  /** Whether packets carry a global route header: always on Ethernet. */
  boolean isGlobal() {
    return port.linkLayer() == LinkLayer.ETHERNET;
  }

  /** For example {@code rxe0 port 1 GID 1 ::ffff:10.0.0.1 (RoCE v2)}. */
  @Override
  public String toString() {
    return port.linkLayer() == LinkLayer.INFINIBAND
        ? "%s port %d LID %d".formatted(device, port.number(), port.lid())
        : "%s port %d GID %d %s (%s)".formatted(device, port.number(), gidIndex, gid, gidType);
  }
}
