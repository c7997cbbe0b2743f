package org.verbena.cli;

import java.io.IOException;
import org.verbena.verbs.Completions;
import org.verbena.verbs.ReceiveRequests;
import org.verbena.verbs.SendRequests;

/** A latency of what takes a receive: half the time to and fro. */
abstract class PerfMessageLatency extends PerfLatency {
  private long received;

  PerfMessageLatency(int number) {
    super(number, 2);
  }

  /** What is sent, from the second half of the buffer. */
  abstract SendRequests message(PerfConnection connection);

  @Override
  void run(PerfConnection connection) throws IOException {
    ReceiveRequests one =
        connection.pair().receiveRequests(1, 1).receive(0).into(connection.buffer(), 0, size());
    while (connection.pair().post(one)) {
      // as many as fit
    }
    connection.peer().await();
    long[] posted = exchange(connection, one, message(connection).signaled());
    if (!connection.peer().isServer()) {
      report(posted, 2);
    }
  }

  /** Sends to and fro; returns when each message was posted. */
  private long[] exchange(PerfConnection connection, ReceiveRequests one, SendRequests message)
      throws IOException {
    if (isInline(connection)) {
      message.inline();
    }
    long[] posted = new long[requests()];
    Completions found = new Completions(4);
    int ahead = connection.peer().isServer() ? 1 : 0;
    for (int i = 0; i < posted.length; i++) {
      awaitReceived(connection, found, one, i + ahead);
      posted[i] = System.nanoTime();
      while (!connection.pair().post(message)) {
        take(connection, found, one);
      }
    }
    awaitReceived(connection, found, one, posted.length);
    while (connection.pair().freeSends() < pairOptions().sendDepth()) {
      take(connection, found, one);
    }
    return posted;
  }

  private void awaitReceived(
      PerfConnection connection, Completions found, ReceiveRequests one, long wanted)
      throws IOException {
    while (received < wanted) {
      take(connection, found, one);
    }
  }

  private void take(PerfConnection connection, Completions found, ReceiveRequests one)
      throws IOException {
    awaitCompletion(connection, found);
    for (int i = 0; i < found.size(); i++) {
      if (found.isReceive(i)) {
        received++;
        connection.pair().post(one);
      }
    }
  }
}
