package org.verbena.collective;

import static java.nio.file.StandardCopyOption.ATOMIC_MOVE;
import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * Parameters into files of a folder. They are written under temporary names, brought to the disk,
 * read back, and get their own names only when their checksum is that of the source and all ranks
 * are as far. A process that is killed may leave temporary files, {@code .NAME.PID.tmp}. One thread
 * at a time.
 */
public final class FileTarget implements ParameterTarget {
  private static final Logger LOG = System.getLogger(FileTarget.class.getName());

  /** So that the end does not wait for a disk that is far behind. */
  private static final long FORCE_BYTES = 64L << 20;

  private static final int BUFFER_BYTES = 1 << 20;

  /** A file that is written. */
  private record Opened(Path path, Path temporary, FileChannel channel) {}

  private final Path folder;
  private final List<Opened> files = new ArrayList<>();
  private long unforced;

  /** Files of this folder, which is there. */
  public FileTarget(Path folder) {
    this.folder = folder;
  }

  @Override
  public void begin(List<Parameter> parameters) throws IOException {
    long needed = 0;
    for (Parameter each : parameters) {
      needed = Math.addExact(needed, each.bytes());
      checkName(each.name());
    }
    long free = Files.getFileStore(folder).getUsableSpace();
    if (needed > free) {
      throw new IOException(
          "%s has %,d bytes free, the files have %,d: free some, or name another folder"
              .formatted(folder, free, needed));
    }
    for (Parameter each : parameters) {
      Path path = folder.resolve(each.name());
      if (Files.exists(path) && !Files.isRegularFile(path)) {
        throw new IOException(path + " is there, and no regular file");
      }
      Path temporary =
          folder.resolve("." + each.name() + "." + ProcessHandle.current().pid() + ".tmp");
      Files.deleteIfExists(temporary);
      files.add(new Opened(path, temporary, FileChannel.open(temporary, CREATE_NEW, READ, WRITE)));
    }
  }

  /** A name from elsewhere must not lead out of the folder. */
  private static void checkName(String name) throws IOException {
    Path path = Path.of(name);
    if (name.isEmpty()
        || path.isAbsolute()
        || path.getNameCount() != 1
        || name.equals(".")
        || name.equals("..")) {
      throw new IOException("'" + name + "' is no name for a file");
    }
  }

  @Override
  public void write(int parameter, long offset, MemorySegment from, long at, int bytes)
      throws IOException {
    FileChannel channel = files.get(parameter).channel;
    ByteBuffer buffer = from.asSlice(at, bytes).asByteBuffer();
    while (buffer.hasRemaining()) {
      channel.write(buffer, offset + buffer.position());
    }
    unforced += bytes;
    if (unforced >= FORCE_BYTES) {
      channel.force(false);
      unforced = 0;
    }
  }

  @Override
  public void finish(int checksum) throws IOException {
    CRC32C crc = new CRC32C();
    ByteBuffer buffer = ByteBuffer.allocateDirect(BUFFER_BYTES);
    for (Opened file : files) {
      file.channel.force(true);
      for (long at = 0; file.channel.read(buffer.clear(), at) >= 0; at += buffer.limit()) {
        crc.update(buffer.flip());
      }
    }
    if ((int) crc.getValue() != checksum) {
      throw new IOException(
          "%s: read back, the files have checksum %08x, at the source they had %08x: is the disk in"
                  .formatted(folder, crc.getValue(), checksum)
              + " order?");
    }
  }

  @Override
  public void commit() throws IOException {
    for (Opened file : files) {
      file.channel.close();
      Files.move(file.temporary, file.path, ATOMIC_MOVE);
    }
    try (FileChannel names = FileChannel.open(folder, READ)) {
      names.force(true);
    }
    files.clear();
  }

  @Override
  public void abort() {
    for (Opened file : files) {
      try (FileChannel _ = file.channel) {
        Files.deleteIfExists(file.temporary);
      } catch (IOException e) {
        LOG.log(Logger.Level.WARNING, "could not remove " + file.temporary, e);
      }
    }
    files.clear();
  }
}
