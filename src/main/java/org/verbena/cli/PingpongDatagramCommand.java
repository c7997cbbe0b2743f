package org.verbena.cli;

import org.jspecify.annotations.Nullable;
import org.verbena.verbs.AddressHandle;
import org.verbena.verbs.CompletionQueue;
import org.verbena.verbs.ProtectionDomain;
import org.verbena.verbs.QueuePair;
import org.verbena.verbs.QueuePairOptions;
import org.verbena.verbs.RdmaPath;
import org.verbena.verbs.SendRequests;
import picocli.CommandLine.Command;

/** {@code verbena pingpong ud}: either end may be {@code ibv_ud_pingpong}. */
@Command(
    name = "ud",
    mixinStandardHelpOptions = true,
    description = {
      "Sends datagrams to and fro.",
      "Speaks the protocol of ibv_ud_pingpong, as server without SERVER and else as client; either"
          + " end may be that program. Give both ends the same -s, at most the MTU, and -n."
    })
final class PingpongDatagramCommand extends Pingpong {
  private static final int BYTES = 1024;

  /** The key that ibv_ud_pingpong uses. */
  private static final int KEY = 0x1111_1111;

  private @Nullable AddressHandle address;
  private int number;

  PingpongDatagramCommand() {
    super(BYTES);
  }

  @Override
  int routeBytes() {
    return AddressHandle.ROUTE_BYTES;
  }

  @Override
  QueuePair create(ProtectionDomain domain, RdmaPath path, CompletionQueue queue) {
    int mtu = path.port().activeMtu().bytes();
    require(size() <= mtu, "-s must be at most the MTU, %d.".formatted(mtu));
    QueuePair pair =
        domain.createDatagramPair(
            path, QueuePairOptions.DEFAULTS.withDepths(1, receiveDepth()), queue, queue, KEY);
    pair.activate();
    return pair;
  }

  @Override
  void connect(ProtectionDomain domain, QueuePair pair, PingpongAddress remote) {
    address = domain.createAddressHandle(pair.path(), remote.gid(), remote.lid(), traffic());
    number = remote.queuePair();
  }

  @Override
  SendRequests message(SendRequests chain) {
    AddressHandle to = address;
    if (to == null) {
      throw new IllegalStateException("not connected");
    }
    return chain.sendTo(to, number, KEY);
  }
}
