package org.verbena.bootstrap;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;

class TcpGroupTest extends GroupContract {
  @TempDir Path dir;

  @Override
  List<? extends Group> members(int size, Duration timeout) throws Exception {
    Rendezvous rendezvous = new Rendezvous.InFile(dir.resolve("rendezvous"));
    return Members.run(
            size,
            rank ->
                () ->
                    TcpGroup.join(
                        OneHost.membership(rank, size, rendezvous),
                        Duration.ofSeconds(30),
                        timeout))
        .stream()
        .map(Members.Outcome::result)
        .toList();
  }
}
