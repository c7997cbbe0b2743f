package org.verbena.examples;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.verbena.bootstrap.Group;
import org.verbena.collective.Collective;
import org.verbena.collective.CollectiveConfig;
import org.verbena.collective.FileSource;
import org.verbena.collective.FileTarget;
import org.verbena.collective.Route;
import org.verbena.collective.SyncProgress;
import org.verbena.collective.SyncReport;
import org.verbena.transport.shm.ShmTransport;

/** Files of rank 0 into a folder of each other rank, all on one host. */
public final class SyncExample {
  private SyncExample() {}

  public static SyncReport run(Group group, List<Path> files, Path folder) throws IOException {
    CollectiveConfig config = CollectiveConfig.builder().sync(4, 512 << 10).build();
    Route route = Route.star(group.size());
    try (Collective collective = Collective.open(group, ShmTransport.provider(), config)) {
      if (group.rank() > 0) {
        return collective.sync().receive(new FileTarget(folder), route, SyncProgress.NONE);
      }
      try (FileSource source = new FileSource(files)) {
        SyncProgress progress = (bytes, total) -> System.err.printf("%d/%d%n", bytes, total);
        return collective.sync().send(source, route, progress);
      }
    }
  }
}
