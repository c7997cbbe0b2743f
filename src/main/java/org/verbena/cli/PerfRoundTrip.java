package org.verbena.cli;

import java.io.IOException;
import org.verbena.verbs.Completions;
import org.verbena.verbs.SendRequests;

/** A latency of what brings an answer: the time from one post to the next, after its completion. */
abstract class PerfRoundTrip extends PerfLatency {
  PerfRoundTrip(int number, int size) {
    super(number, size);
  }

  /** What is posted. */
  abstract SendRequests request(PerfConnection connection);

  @Override
  void validate() {
    super.validate();
    require(options().inline(0) == 0, "What brings an answer cannot be inline.");
  }

  @Override
  void run(PerfConnection connection) throws IOException {
    if (connection.peer().isServer()) {
      return;
    }
    SendRequests request = request(connection).signaled();
    Completions found = new Completions(1);
    long[] posted = new long[requests() + 1];
    for (int i = 0; i < posted.length; i++) {
      posted[i] = System.nanoTime();
      if (i < requests()) {
        connection.pair().post(request);
        awaitCompletion(connection, found);
      }
    }
    report(posted, 1);
  }
}
