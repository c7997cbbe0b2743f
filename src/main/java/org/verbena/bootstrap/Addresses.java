package org.verbena.bootstrap;

import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Where rank 0 listens, and what it may publish about that. */
final class Addresses {
  private Addresses() {}

  /**
   * Where rank 0 listens: on loopback if all ranks are known to be on one host or the rendezvous
   * itself is loopback, so that nobody else can connect; otherwise on all addresses of the host,
   * since the name of rank 0 may well resolve to loopback on rank 0's own host.
   */
  static InetSocketAddress toListen(Membership membership) throws IOException {
    return switch (membership.rendezvous()) {
      case Rendezvous.At(String host, int port) when isLoopback(host) ->
          new InetSocketAddress(InetAddress.getByName(host), port);
      case Rendezvous.At(_, int port) when membership.oneHost() ->
          new InetSocketAddress(loopback(), port);
      case Rendezvous.At(_, int port) -> new InetSocketAddress(port);
      case Rendezvous.InFile _ when membership.oneHost() -> new InetSocketAddress(loopback(), 0);
      case Rendezvous.InFile _ -> new InetSocketAddress(0);
    };
  }

  /** Where the others look for that listener, by names as they resolve now. */
  static List<InetSocketAddress> toDial(
      Rendezvous.At rendezvous, boolean oneHost, Dialer.Resolver resolver) throws IOException {
    InetAddress[] hosts =
        oneHost && !isLoopback(rendezvous.host())
            ? new InetAddress[] {loopback()}
            : resolver.resolve(rendezvous.host());
    return Arrays.stream(hosts)
        .map(host -> new InetSocketAddress(host, rendezvous.port()))
        .toList();
  }

  /** Throws if a rank without a secret would talk to whoever is on a network. */
  static void checkReach(Membership membership, InetSocketAddress address) {
    InetAddress host = address.getAddress();
    if (membership.secret().isEmpty() && !membership.insecure() && !host.isLoopbackAddress()) {
      throw new GroupException(
          String.format(
              "%s is not loopback, and this rank has no secret by which members know each other; %s;"
                  + " or let everyone in who can connect: --insecure, VERBENA_INSECURE=1",
              address, Secret.ADVICE));
    }
  }

  private static boolean isLoopback(String host) {
    return host.equals("localhost") || host.startsWith("127.") || host.equals("::1");
  }

  /** What ranks may dial to reach a listener. */
  static List<InetSocketAddress> toPublish(InetSocketAddress listener) throws IOException {
    List<InetAddress> hosts = List.of(listener.getAddress());
    if (listener.getAddress().isAnyLocalAddress()) {
      List<InetAddress> outward = outward(ofThisHost());
      hosts = outward.isEmpty() ? List.of(loopback()) : outward;
    }
    return hosts.stream().map(host -> new InetSocketAddress(host, listener.getPort())).toList();
  }

  /**
   * The addresses under which other hosts may reach this one: never loopback, whatever the own host
   * name resolves to, and no link-local ones, whose interface has another name elsewhere. All
   * others, IPv4 first: which network joins the hosts cannot be known here, and the token makes
   * sure that a wrong one leads nowhere.
   */
  static List<InetAddress> outward(List<InetAddress> addresses) {
    return addresses.stream()
        .filter(a -> !a.isLoopbackAddress() && !a.isLinkLocalAddress() && !a.isAnyLocalAddress())
        .sorted((a, b) -> Boolean.compare(a instanceof Inet6Address, b instanceof Inet6Address))
        .toList();
  }

  static InetAddress loopback() throws IOException {
    return InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
  }

  private static List<InetAddress> ofThisHost() throws IOException {
    List<InetAddress> addresses = new ArrayList<>();
    for (NetworkInterface device : NetworkInterface.networkInterfaces().toList()) {
      if (device.isUp()) {
        device.inetAddresses().forEach(addresses::add);
      }
    }
    return addresses;
  }
}
