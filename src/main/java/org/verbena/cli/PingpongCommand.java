package org.verbena.cli;

import org.verbena.verbs.CompletionQueue;
import org.verbena.verbs.Endpoint;
import org.verbena.verbs.Mtu;
import org.verbena.verbs.ProtectionDomain;
import org.verbena.verbs.QueuePair;
import org.verbena.verbs.RdmaPath;
import org.verbena.verbs.SendRequests;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code verbena pingpong}: either end may be {@code ibv_rc_pingpong}. */
@Command(
    name = "pingpong",
    mixinStandardHelpOptions = true,
    description = {
      "Sends messages to and fro over a reliable connection.",
      "Speaks the protocol of ibv_rc_pingpong, as server without SERVER and else as client; either"
          + " end may be that program. Give both ends the same -s, -n and -m."
    },
    subcommands = PingpongDatagramCommand.class)
final class PingpongCommand extends Pingpong {
  private static final int BYTES = 4096;

  @Option(
      names = {"-m", "--mtu"},
      paramLabel = "BYTES",
      description = "Path MTU, lowered to what the port takes; ${DEFAULT-VALUE} unless given.")
  private int mtu = 1024;

  PingpongCommand() {
    super(BYTES);
  }

  @Override
  void validate() {
    super.validate();
    try {
      Mtu.ofBytes(mtu);
    } catch (IllegalArgumentException e) {
      require(false, "-m: " + e.getMessage());
    }
  }

  @Override
  int routeBytes() {
    return 0;
  }

  @Override
  QueuePair create(ProtectionDomain domain, RdmaPath path, CompletionQueue queue) {
    QueuePair pair =
        domain.createQueuePair(
            path,
            RdmaOptions.PAIR.withDepths(1, receiveDepth()).withReadDepth(1).withTraffic(traffic()),
            queue,
            queue);
    pair.initialize();
    return pair;
  }

  /** What the peer does not tell, such as the MTU, both ends must be given alike. */
  @Override
  void connect(ProtectionDomain domain, QueuePair pair, PingpongAddress remote) {
    Endpoint endpoint =
        new Endpoint(
            remote.queuePair(),
            remote.packetSequence(),
            remote.gid(),
            pair.path().gidType(),
            remote.lid(),
            Mtu.ofBytes(mtu),
            1);
    pair.readyToReceive(endpoint);
    pair.readyToSend(endpoint);
  }

  @Override
  SendRequests message(SendRequests chain) {
    return chain.send();
  }
}
