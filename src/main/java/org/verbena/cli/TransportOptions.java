package org.verbena.cli;

import org.jspecify.annotations.Nullable;
import org.verbena.bootstrap.Membership;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.rdma.MixedProvider;
import org.verbena.transport.rdma.RdmaProvider;
import org.verbena.transport.rdma.RdmaSettings;
import org.verbena.transport.shm.ShmTransport;
import picocli.CommandLine.Option;

/** How the ranks of a command reach each other. */
final class TransportOptions {
  /** The kinds of transport, by the names of their providers. */
  enum Kind {
    shm,
    rdma,
    mixed
  }

  @Option(
      names = "--transport",
      paramLabel = "KIND",
      description =
          "How ranks reach each other: shm (shared memory), rdma, or mixed (shared memory on one"
              + " host, RDMA between hosts). Default: shm if all are on one host, mixed otherwise.")
  private @Nullable Kind kind;

  /** What is used between these hosts: as asked for, or what suits. */
  Kind between(int hosts, int ranks) {
    if (kind != null) {
      return kind;
    }
    return hosts == 1 ? Kind.shm : ranks <= hosts ? Kind.rdma : Kind.mixed;
  }

  /** Opens what was asked for, or what suits a rank. */
  TransportProvider provider(Membership membership) {
    return switch (between(membership.oneHost() ? 1 : 2, membership.size())) {
      case shm -> ShmTransport.provider();
      case rdma -> new RdmaProvider(settings());
      case mixed -> new MixedProvider(settings());
    };
  }

  private static RdmaSettings settings() {
    return RdmaSettings.fromEnvironment(System.getenv());
  }
}
