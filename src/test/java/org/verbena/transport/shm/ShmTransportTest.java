package org.verbena.transport.shm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.RandomAccessFile;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.acceptance.Ranks;
import org.verbena.bootstrap.GroupException;
import org.verbena.transport.Transport;
import org.verbena.transport.TransportContract;
import org.verbena.transport.TransportProvider;

class ShmTransportTest extends TransportContract {
  @TempDir Path directory;

  @Override
  protected TransportProvider provider() {
    return ShmTransport.provider(directory);
  }

  private List<Path> files() throws Exception {
    try (Stream<Path> files = Files.list(directory)) {
      return files.toList();
    }
  }

  @Test
  void namesAreGoneOnceAllHaveOpened() throws Exception {
    Ranks.run(
        3,
        group -> {
          try (Transport transport = provider().open(group, 4096)) {
            assertThat(transport.size()).isEqualTo(3);
            group.allGather("opened", new byte[0]);
            assertThat(files()).isEmpty();
            group.allGather("looked", new byte[0]);
          }
        });
  }

  @Test
  void filesAreTheirOwnersOnly() throws Exception {
    try (WindowFile file = WindowFile.create(directory, 4096)) {
      assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file.path())))
          .isEqualTo("rw-------");
      assertThat(file.isOwnerAlive()).isTrue();
      file.removeName();
    }
  }

  @Test
  void aWindowThatDoesNotFitIsRefusedOnAllRanksWithTheNumbers() throws Exception {
    long free = Files.getFileStore(directory).getUsableSpace();
    Ranks.run(
        2,
        group -> {
          long bytes = group.rank() == 1 ? free * 4 : 4096;
          assertThatThrownBy(() -> provider().open(group, bytes))
              .isInstanceOf(GroupException.class)
              .hasMessageContaining("rank 1: shm window")
              .hasMessageContaining("needs")
              .hasMessageContaining("bytes free");
        });
    assertThat(files()).isEmpty();
  }

  @Test
  void whatAKilledOwnerLeftIsRemoved() throws Exception {
    Process gone = new ProcessBuilder("true").start();
    assertThat(gone.waitFor()).isZero();
    Path abandoned = directory.resolve("verbena-%d-0123456789abcdef".formatted(gone.pid()));
    Path foreign = directory.resolve("verbena-notes-0123456789abcdef");
    Files.write(abandoned, new byte[10]);
    Files.write(foreign, new byte[10]);

    try (WindowFile file = WindowFile.create(directory, 4096)) {
      file.removeName();
      assertThat(files()).containsExactly(foreign);
    }
  }

  @Test
  void aWindowLargerThan2GiBIsAddressedInFull() throws Exception {
    long bytes = (4L << 30) + 4096;
    Path sparse = directory.resolve("sparse");
    try (var file = new RandomAccessFile(sparse.toFile(), "rw")) {
      file.setLength(bytes);
    }
    try (WindowFile file = WindowFile.open(sparse, bytes)) {
      file.memory().set(ValueLayout.JAVA_LONG, (4L << 30) + 8, 42);
      assertThat(file.memory().byteSize()).isEqualTo(bytes);
      assertThat(file.memory().get(ValueLayout.JAVA_LONG, (4L << 30) + 8)).isEqualTo(42);
      assertThat(file.memory().get(ValueLayout.JAVA_LONG, 8)).isZero();
    }
  }
}
