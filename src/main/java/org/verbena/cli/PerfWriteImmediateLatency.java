package org.verbena.cli;

import org.verbena.verbs.SendRequests;
import picocli.CommandLine.Command;

/** {@code verbena perf write-imm-lat}: writes that take a receive of the peer. */
@Command(
    name = "write-imm-lat",
    mixinStandardHelpOptions = true,
    description = {
      "Measures the latency of RDMA writes with an immediate value, as ib_write_lat --write_with_imm"
          + " does: half the time of one to the peer and one back.",
      "Give both ends the same -s and -n."
    })
final class PerfWriteImmediateLatency extends PerfMessageLatency {
  PerfWriteImmediateLatency() {
    super(6);
  }

  @Override
  SendRequests message(PerfConnection connection) {
    return connection
        .pair()
        .sendRequests(1, 1)
        .writeWithImmediate(connection.remote(), 0, 1)
        .from(connection.buffer(), half(), size());
  }
}
