package org.verbena.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.verbena.bootstrap.Group;
import org.verbena.collective.Collective;
import org.verbena.collective.CollectiveConfig;
import org.verbena.collective.FileSource;
import org.verbena.collective.FileTarget;
import org.verbena.collective.ParameterSource;
import org.verbena.collective.Route;
import org.verbena.collective.SyncProgress;
import org.verbena.collective.SyncReport;
import org.verbena.collective.Way;
import org.verbena.transport.TransportProvider;

/** One rank of a sync of files. */
final class SyncRank {
  private static final int SLOTS = 4;
  private static final long PROGRESS_NANOS = 200_000_000;

  private final Group group;
  private final Way way;
  private final Route route;
  private final List<Path> files;
  private final @Nullable Path folder;
  private final int chunkBytes;
  private final Duration timeout;
  private final TransportProvider provider;
  private long start;
  private long shown;

  SyncRank(
      Group group,
      TransportProvider provider,
      Way way,
      List<Path> files,
      @Nullable Path folder,
      int chunkBytes,
      Duration timeout) {
    this.group = group;
    this.provider = provider;
    this.way = way;
    this.route = way.of(group.size());
    this.files = files;
    this.folder = folder;
    this.chunkBytes = chunkBytes;
    this.timeout = timeout;
  }

  void run() throws IOException {
    CollectiveConfig config =
        CollectiveConfig.builder().sync(SLOTS, chunkBytes).timeout(timeout).build();
    List<FileSource> source = new ArrayList<>(1);
    try {
      group.allGatherResults("files", () -> prepare(source));
      try (Collective collective = Collective.open(group, provider, config)) {
        start = System.nanoTime();
        SyncReport report =
            source.isEmpty() ? receive(collective) : send(collective, source.getFirst());
        double seconds = (System.nanoTime() - start) / 1e9;
        print(report, seconds, paths(collective));
      }
    } finally {
      for (FileSource each : source) {
        each.close();
      }
    }
  }

  /** What can fail on one rank alone, before the others wait for it. */
  private byte[] prepare(List<FileSource> source) throws IOException {
    if (group.rank() == 0) {
      source.add(new FileSource(files));
    } else if (folder != null) {
      Files.createDirectories(own(folder));
    }
    return new byte[0];
  }

  private Path own(Path of) {
    return of.resolve("rank" + group.rank());
  }

  private SyncReport send(Collective collective, ParameterSource source) {
    SyncProgress progress =
        (bytes, total) -> {
          long now = System.nanoTime();
          if (now - shown >= PROGRESS_NANOS || bytes == total) {
            shown = now;
            System.err.printf(
                "%s%,d of %,d bytes, %3.0f %%, %,.1f MB/s%n",
                RankOutput.PROGRESS,
                bytes,
                total,
                100.0 * bytes / total,
                1e3 * bytes / Math.max(1, now - start));
          }
        };
    return collective.sync().send(source, route, progress);
  }

  private SyncReport receive(Collective collective) {
    if (folder != null) {
      return collective.sync().receive(new FileTarget(own(folder)), route, SyncProgress.NONE);
    }
    try (MemoryTarget target = new MemoryTarget()) {
      return collective.sync().receive(target, route, SyncProgress.NONE);
    }
  }

  /** How each rank reaches those that it passes the files on to, line by line. */
  private String paths(Collective collective) {
    StringBuilder mine = new StringBuilder();
    for (int child : route.children(group.rank())) {
      mine.append("%d -> %d  %s%n".formatted(group.rank(), child, collective.path(child)));
    }
    return group.allGather("paths", mine.toString().getBytes(UTF_8)).stream()
        .map(lines -> new String(lines, UTF_8))
        .collect(Collectors.joining());
  }

  private void print(SyncReport report, double seconds, String paths) throws IOException {
    byte[] mine =
        ByteBuffer.allocate(3 * Long.BYTES)
            .putLong(report.bytes())
            .putLong(report.checksum())
            .putLong(report.repeated())
            .array();
    long repeated = 0;
    for (byte[] rank : group.allGather("reports", mine)) {
      ByteBuffer theirs = ByteBuffer.wrap(rank);
      if (theirs.getLong() != report.bytes() || theirs.getLong() != report.checksum()) {
        throw new IOException("rank " + group.rank() + ": ranks report different checksums");
      }
      repeated += theirs.getLong();
    }
    if (group.rank() == 0) {
      System.out.printf(
          "%d file%s, %,d bytes to %d rank%s over %s in a %s: %.2f s, %,.1f MB/s to each%n",
          files.size(),
          files.size() == 1 ? "" : "s",
          report.bytes(),
          group.size() - 1,
          group.size() == 2 ? "" : "s",
          provider.name(),
          way,
          seconds,
          report.bytes() / seconds / 1e6);
      System.out.print(paths);
      System.out.printf(
          "checksum %08x on all ranks, %d chunks sent again%n", report.checksum(), repeated);
    }
  }
}
