package org.verbena.cli;

import org.verbena.verbs.SendRequests;
import picocli.CommandLine.Command;

/** {@code verbena perf read-bw}: as {@code ib_read_bw}. */
@Command(
    name = "read-bw",
    mixinStandardHelpOptions = true,
    description = {
      "Measures the bandwidth of RDMA reads, as ib_read_bw does.",
      "The server sleeps meanwhile. Give both ends the same -s and -n."
    })
final class PerfReadBandwidth extends PerfBandwidth {
  PerfReadBandwidth() {
    super(3);
  }

  @Override
  void validate() {
    super.validate();
    require(options().inline(0) == 0, "Reads cannot be inline.");
  }

  @Override
  SendRequests request(PerfConnection connection) {
    return connection
        .pair()
        .sendRequests(1, 1)
        .read(connection.remote(), 0)
        .into(connection.buffer(), 0, size());
  }
}
