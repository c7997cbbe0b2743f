package org.verbena.cluster;

/** One more rxe device of a node, on an interface of the node's own, until it is closed. */
public final class SecondDevice implements AutoCloseable {
  private static final String ADDRESS = "10.99.0.1";
  private static final String INTERFACE = "second0";

  private final Node node;
  private final String name;

  /** Makes it, with packets of 9,000 bytes; returns once its GID is there. */
  public SecondDevice(Node node) {
    this.node = node;
    name = node.device().name() + "_b";
    shell(
        "ip link add %1$s type dummy && ip link set %1$s mtu 9000 up".formatted(INTERFACE)
            + " && ip address add %s/24 dev %s".formatted(ADDRESS, INTERFACE)
            + " && rdma link add %s type rxe netdev %s".formatted(name, INTERFACE)
            + " && until ibv_devinfo -v -d %s | grep -q %s; do sleep 0.1; done"
                .formatted(name, ADDRESS));
  }

  /** The device's name. */
  public String name() {
    return name;
  }

  /** Takes its port down. */
  public void takeDown() {
    shell("ip link set " + INTERFACE + " down");
  }

  private void shell(String command) {
    node.exec("sh", "-c", command).orThrow();
  }

  @Override
  public void close() {
    shell("rdma link delete " + name + "; ip link delete " + INTERFACE);
  }
}
