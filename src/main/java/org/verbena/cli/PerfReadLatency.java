package org.verbena.cli;

import org.verbena.verbs.SendRequests;
import picocli.CommandLine.Command;

/** {@code verbena perf read-lat}: as {@code ib_read_lat}. */
@Command(
    name = "read-lat",
    mixinStandardHelpOptions = true,
    description = {
      "Measures how long an RDMA read takes, there and back, as ib_read_lat does.",
      "The server sleeps meanwhile. Give both ends the same -s and -n."
    })
final class PerfReadLatency extends PerfRoundTrip {
  PerfReadLatency() {
    super(7, 2);
  }

  @Override
  SendRequests request(PerfConnection connection) {
    return connection
        .pair()
        .sendRequests(1, 1)
        .read(connection.remote(), 0)
        .into(connection.buffer(), half(), size());
  }
}
