package org.verbena.cli;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import org.verbena.verbs.Completions;
import org.verbena.verbs.SendRequests;
import picocli.CommandLine.Command;

/** {@code verbena perf write-lat}: as {@code ib_write_lat}, half the time to and fro. */
@Command(
    name = "write-lat",
    mixinStandardHelpOptions = true,
    description = {
      "Measures the latency of RDMA writes, as ib_write_lat does: half the time of a write to"
          + " the peer and one back.",
      "Give both ends the same -s and -n."
    })
final class PerfWriteLatency extends PerfLatency {
  private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();

  PerfWriteLatency() {
    super(2, 2);
  }

  @Override
  void run(PerfConnection connection) throws IOException {
    long[] posted = write(connection, requests());
    if (!connection.peer().isServer()) {
      report(posted, 2);
    }
  }

  /**
   * Writes to and fro; the last byte counts. It may stand for the whole write only since nothing
   * but the time is looked at.
   *
   * @return when each write was posted
   */
  private long[] write(PerfConnection connection, int writes) throws IOException {
    long[] posted = new long[writes];
    MemorySegment memory = connection.buffer().memory();
    long in = size() - 1L;
    long out = half() + size() - 1L;
    SendRequests write =
        connection
            .pair()
            .sendRequests(1, 1)
            .write(connection.remote(), 0)
            .from(connection.buffer(), half(), size())
            .signaled();
    if (isInline(connection)) {
      write.inline();
    }
    Completions found = new Completions(1);
    boolean server = connection.peer().isServer();
    for (int i = 0; i < writes; i++) {
      if (server || i > 0) {
        await(memory, in, (byte) (server ? i + 1 : i));
      }
      memory.set(ValueLayout.JAVA_BYTE, out, (byte) (i + 1));
      posted[i] = System.nanoTime();
      connection.pair().post(write);
      awaitCompletion(connection, found);
    }
    if (!server) {
      await(memory, in, (byte) writes);
    }
    return posted;
  }

  private static void await(MemorySegment memory, long offset, byte value) throws IOException {
    Patience patience = new Patience();
    for (long polls = 1; (byte) BYTE.getAcquire(memory, offset) != value; polls++) {
      patience.check(polls, "write");
    }
  }
}
