package org.verbena.transport.rdma;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Memory on the huge pages of Linux: files of a hugetlbfs, whose pages stay in memory. */
final class HugePages {
  private static final String TYPE = "hugetlbfs";

  private HugePages() {}

  /**
   * Maps zeroed memory that nothing else maps.
   *
   * @param folder on a hugetlbfs; a whole number of its pages is taken
   * @throws IllegalArgumentException if it is not, or has not that many pages free
   */
  static MemorySegment allocate(Path folder, long bytes, Arena arena) {
    try {
      FileStore store = Files.getFileStore(folder);
      if (!store.type().equals(TYPE)) {
        throw new IllegalArgumentException(
            "huge-pages is %s; it must be a folder on a hugetlbfs, this is %s"
                .formatted(folder, store.type()));
      }
      return map(folder, Math.ceilDiv(bytes, store.getBlockSize()) * store.getBlockSize(), arena)
          .asSlice(0, bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static MemorySegment map(Path folder, long bytes, Arena arena) throws IOException {
    Path file = Files.createTempFile(folder, "verbena-", ".window");
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return channel.map(MapMode.READ_WRITE, 0, bytes, arena);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "huge-pages is %s, which has no %d bytes free: %s".formatted(folder, bytes, e), e);
    } finally {
      // The mapping keeps it.
      Files.deleteIfExists(file);
    }
  }
}
