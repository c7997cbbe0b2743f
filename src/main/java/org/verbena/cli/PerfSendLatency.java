package org.verbena.cli;

import org.verbena.verbs.SendRequests;
import picocli.CommandLine.Command;

/** {@code verbena perf send-lat}: as {@code ib_send_lat}. */
@Command(
    name = "send-lat",
    mixinStandardHelpOptions = true,
    description = {
      "Measures the latency of messages, as ib_send_lat does: half the time of one to the peer and"
          + " one back.",
      "Give both ends the same -s and -n."
    })
final class PerfSendLatency extends PerfMessageLatency {
  PerfSendLatency() {
    super(5);
  }

  @Override
  SendRequests message(PerfConnection connection) {
    return connection.pair().sendRequests(1, 1).send().from(connection.buffer(), half(), size());
  }
}
