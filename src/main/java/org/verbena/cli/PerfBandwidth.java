package org.verbena.cli;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.verbena.verbs.Completions;
import org.verbena.verbs.QueuePairOptions;
import org.verbena.verbs.SendRequests;
import picocli.CommandLine.Option;

/** A bandwidth: the client posts as much as the queue holds, and completes some of it. */
abstract class PerfBandwidth extends PerfMeasure {
  private static final double MEBIBYTE = 1 << 20;

  /** Where perftest stops looking for a peak, and prints 0. */
  private static final int MOST_FOR_PEAK = 20_000;

  @Option(
      names = {"-t", "--tx-depth"},
      paramLabel = "N",
      description = "Requests that may be outstanding; ${DEFAULT-VALUE} unless given.")
  private int depth = 128;

  @Option(
      names = {"-Q", "--cq-mod"},
      paramLabel = "N",
      description = "Complete every N-th request; ${DEFAULT-VALUE} unless given.")
  private int every = 100;

  PerfBandwidth(int number) {
    super(number, 65536, 1);
  }

  /** A request of its own for {@code connection}, unsignaled. */
  abstract SendRequests request(PerfConnection connection);

  @Override
  void validate() {
    super.validate();
    require(depth >= 1 && every >= 1, "-t and -Q must be 1 or more.");
  }

  final int depth() {
    return depth;
  }

  @Override
  QueuePairOptions pairOptions() {
    return RdmaOptions.PAIR.withDepths(depth, 1).withInline(options().inline(0));
  }

  @Override
  final long bufferBytes() {
    return size();
  }

  @Override
  void run(PerfConnection connection) throws IOException {
    if (!connection.peer().isServer()) {
      post(connection, new Times(options().warmup()));
      Times times = new Times(options().iterations());
      post(connection, times);
      report(times);
    }
  }

  /** When each request was posted and, for those that are told, when it was seen to have ended. */
  private static final class Times {
    final long[] posted;
    final long[] ended;

    Times(int requests) {
      posted = new long[requests];
      ended = new long[requests];
    }

    int requests() {
      return posted.length;
    }

    double total() {
      return requests() == 0 ? 0 : ended[requests() - 1] - posted[0];
    }

    /**
     * The shortest time for a request, over all runs of requests from any to one whose end was
     * told, as perftest finds its peak.
     */
    double shortest() {
      double shortest = total();
      for (int last = 0; last < requests(); last++) {
        for (int first = 0; ended[last] != 0 && first <= last; first++) {
          double mean = (double) (ended[last] - posted[first]) / (last - first + 1);
          shortest = Math.min(shortest, mean);
        }
      }
      return shortest;
    }
  }

  /** Posts as many requests as there are times, to the completion of the last. */
  @SuppressWarnings("ThreadPriorityCheck") // A device in software may wait for this processor.
  private void post(PerfConnection connection, Times times) {
    int requests = times.requests();
    int step = Math.min(every, depth);
    SendRequests silent = inlined(connection, request(connection));
    SendRequests told = inlined(connection, request(connection)).signaled();
    Completions found = new Completions(16);
    int posted = 0;
    int ended = 0;
    while (ended < requests) {
      while (posted < requests && connection.pair().freeSends() > 0) {
        times.posted[posted++] = System.nanoTime();
        boolean tell = posted % step == 0 || posted == requests;
        connection.pair().post(tell ? told : silent);
      }
      int left = connection.poll(found);
      if (left == 0) {
        Thread.yield();
      }
      for (; left > 0; left--) {
        ended = Math.min(ended + step, requests);
        times.ended[ended - 1] = System.nanoTime();
      }
    }
  }

  private SendRequests inlined(PerfConnection connection, SendRequests request) {
    return isInline(connection, 0) ? request.inline() : request;
  }

  private void report(Times times) {
    double average = mebibytesPerSecond(times.total() / options().iterations());
    double peak = options().iterations() > MOST_FOR_PEAK ? 0 : mebibytesPerSecond(times.shortest());
    double rate = options().iterations() / (times.total() / 1e3);
    if (options().json()) {
      Map<String, Object> result = new LinkedHashMap<>();
      result.put("bytes", size());
      result.put("iterations", options().iterations());
      result.put("BW_peak_MiB_per_sec", peak);
      result.put("BW_average_MiB_per_sec", average);
      result.put("MsgRate_Mpps", rate);
      System.out.println(Json.of(result));
    } else {
      System.out.println(
          " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]");
      System.out.printf(
          Locale.ROOT,
          " %-7d    %-10d       %-7.2f            %-7.2f\t\t     %-7.6f%n",
          size(),
          options().iterations(),
          peak,
          average,
          rate);
    }
  }

  private double mebibytesPerSecond(double nanosPerWrite) {
    return size() / MEBIBYTE / (nanosPerWrite / 1e9);
  }
}
