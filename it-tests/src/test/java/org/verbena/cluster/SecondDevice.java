package org.verbena.cluster;

/** One more rxe device of a node, on an interface of the node's own, until it is closed. */
public final class SecondDevice implements AutoCloseable {
  private static final String INTERFACE = "second0";

  private final Node node;
  private final String name;

  private SecondDevice(Node node, String kind, int mtu, String network) {
    this.node = node;
    name = node.device().name() + "_b";
    shell(
        "ip link add %1$s %2$s && ip link set %1$s mtu %3$d up".formatted(INTERFACE, kind, mtu)
            + " && ip address add %s dev %s".formatted(network, INTERFACE)
            + " && rdma link add %s type rxe netdev %s".formatted(name, INTERFACE)
            + " && until ibv_devinfo -v -d %s | grep -q %s; do sleep 0.1; done"
                .formatted(name, network.substring(0, network.indexOf('/'))));
  }

  /** Makes one that reaches nobody else, with packets of 9,000 bytes; returns once it has a GID. */
  public static SecondDevice alone(Node node) {
    return new SecondDevice(node, "type dummy", 9_000, "10.99.0.1/24");
  }

  /** Makes one on the network of the nodes that has this IPv6 address and no IPv4 address. */
  public static SecondDevice ofIpv6(Node node, String address) {
    String kind = "link eth0 type macvlan mode bridge";
    return new SecondDevice(node, kind, 1_500, address + "/64 nodad");
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
