package org.verbena.cli;

import java.io.IOException;
import org.verbena.verbs.Completions;
import org.verbena.verbs.QueuePair;
import org.verbena.verbs.QueuePairOptions;
import org.verbena.verbs.ReceiveRequests;
import org.verbena.verbs.SendRequests;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code verbena perf send-bw}: as {@code ib_send_bw}. */
@Command(
    name = "send-bw",
    mixinStandardHelpOptions = true,
    description = {
      "Measures the bandwidth of messages, as ib_send_bw does.",
      "The server polls for them and posts receives anew. Give both ends the same -s and -n."
    })
final class PerfSendBandwidth extends PerfBandwidth {
  @Option(
      names = {"-r", "--rx-depth"},
      paramLabel = "N",
      description = "Receives that the server has posted; ${DEFAULT-VALUE} unless given.")
  private int receiveDepth = 512;

  PerfSendBandwidth() {
    super(4);
  }

  @Override
  void validate() {
    super.validate();
    require(receiveDepth >= 1, "-r must be 1 or more.");
  }

  @Override
  QueuePairOptions pairOptions() {
    return super.pairOptions().withDepths(depth(), receiveDepth);
  }

  @Override
  SendRequests request(PerfConnection connection) {
    return connection.pair().sendRequests(1, 1).send().from(connection.buffer(), 0, size());
  }

  @Override
  void run(PerfConnection connection) throws IOException {
    if (connection.peer().isServer()) {
      receive(connection);
    } else {
      connection.peer().await();
      super.run(connection);
    }
  }

  private void receive(PerfConnection connection) throws IOException {
    QueuePair pair = connection.pair();
    ReceiveRequests one =
        pair.receiveRequests(1, 1).receive(0).into(connection.buffer(), 0, size());
    long left = (long) options().warmup() + options().iterations();
    long toPost = left - post(pair, one, left);
    connection.peer().await();
    Completions found = new Completions(16);
    while (left > 0) {
      awaitCompletion(connection, found);
      left -= found.size();
      toPost -= post(pair, one, toPost);
    }
  }

  /** Posts as many as fit, but no more than {@code most}; returns how many. */
  private static int post(QueuePair pair, ReceiveRequests one, long most) {
    int posted = 0;
    while (posted < most && pair.freeReceives() > 0) {
      pair.post(one);
      posted++;
    }
    return posted;
  }
}
