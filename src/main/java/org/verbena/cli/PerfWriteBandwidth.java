package org.verbena.cli;

import org.verbena.verbs.SendRequests;
import picocli.CommandLine.Command;

/** {@code verbena perf write-bw}: as {@code ib_write_bw}, with a receiver that sleeps. */
@Command(
    name = "write-bw",
    mixinStandardHelpOptions = true,
    description = {
      "Measures the bandwidth of RDMA writes, as ib_write_bw does.",
      "The server sleeps meanwhile. Give both ends the same -s and -n."
    })
final class PerfWriteBandwidth extends PerfBandwidth {
  PerfWriteBandwidth() {
    super(1);
  }

  @Override
  SendRequests request(PerfConnection connection) {
    return connection
        .pair()
        .sendRequests(1, 1)
        .write(connection.remote(), 0)
        .from(connection.buffer(), 0, size());
  }
}
