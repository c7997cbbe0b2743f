package org.verbena.transport.shm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A mapped file that holds one rank's window.
 *
 * <p>Its owner keeps it locked: the kernel gives the lock up when the process ends, however it
 * ends, and that is how the others learn of it. The lock is a POSIX record lock, which a process
 * loses as soon as it closes any channel to that file; so each channel stays open as long as the
 * mapping.
 */
final class WindowFile implements AutoCloseable {
  private static final Logger LOG = System.getLogger(WindowFile.class.getName());
  private static final Pattern NAME = Pattern.compile("\\.?verbena-(\\d{1,18})-[0-9a-f]{16}");
  private static final int CHUNK = 1 << 20;
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
      PosixFilePermissions.asFileAttribute(
          EnumSet.of(PosixFilePermission.OWNER_READ, PosixFilePermission.OWNER_WRITE));

  private final Path path;
  private final FileChannel channel;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment memory;

  private WindowFile(Path path, FileChannel channel) throws IOException {
    this.path = path;
    this.channel = channel;
    this.memory = channel.map(FileChannel.MapMode.READ_WRITE, 0, channel.size(), arena);
  }

  /**
   * Creates, locks and fills a file with zeros, so that its memory is really there: a mapped page
   * that could not be had later would end the process.
   */
  static WindowFile create(Path directory, long bytes) throws IOException {
    removeAbandoned(directory);
    long free = Files.getFileStore(directory).getUsableSpace();
    if (free < bytes) {
      throw noSpace(directory, bytes, free);
    }
    byte[] random = new byte[8];
    RANDOM.nextBytes(random);
    Path path =
        directory.resolve(
            "verbena-%d-%s"
                .formatted(ProcessHandle.current().pid(), HexFormat.of().formatHex(random)));
    Path unlocked = path.resolveSibling("." + path.getFileName());
    FileChannel channel =
        FileChannel.open(
            unlocked,
            EnumSet.of(
                StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE),
            OWNER_ONLY);
    try {
      channel.lock();
      Files.move(unlocked, path);
      fill(channel, bytes);
      return new WindowFile(path, channel);
    } catch (IOException e) {
      long left = Files.getFileStore(directory).getUsableSpace();
      Files.deleteIfExists(unlocked);
      Files.deleteIfExists(path);
      channel.close();
      // Several ranks may have found enough space, and together have taken it.
      throw new IOException(noSpace(directory, bytes, left).getMessage() + ": " + e, e);
    }
  }

  /** Opens another rank's file. */
  static WindowFile open(Path path, long bytes) throws IOException {
    FileChannel channel = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
    if (channel.size() != bytes) {
      long found = channel.size();
      channel.close();
      throw new IOException("%s has %d bytes, expected %d".formatted(path, found, bytes));
    }
    return new WindowFile(path, channel);
  }

  private static IOException noSpace(Path directory, long bytes, long free) {
    return new IOException(
        ("%s has %,d bytes free, a window needs %,d: free or enlarge it (in a container: --shm-size),"
                + " or name another directory in VERBENA_SHM_DIR")
            .formatted(directory, free, bytes));
  }

  private static void fill(FileChannel channel, long bytes) throws IOException {
    ByteBuffer zeros = ByteBuffer.allocateDirect((int) Math.min(CHUNK, bytes));
    for (long at = 0; at < bytes; ) {
      zeros.clear().limit((int) Math.min(zeros.capacity(), bytes - at));
      at += channel.write(zeros, at);
    }
  }

  /** Deletes files whose owner was killed in the short time in which a file has a name. */
  private static void removeAbandoned(Path directory) throws IOException {
    try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "{.,}verbena-*")) {
      for (Path file : files) {
        Matcher name = NAME.matcher(file.getFileName().toString());
        if (name.matches() && ProcessHandle.of(Long.parseLong(name.group(1))).isEmpty()) {
          removeIfUnlocked(file);
        }
      }
    }
  }

  /** A process of another container may be alive though its number is not known here. */
  private static void removeIfUnlocked(Path file) {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE);
        FileLock lock = channel.tryLock()) {
      if (lock != null) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      LOG.log(Logger.Level.DEBUG, () -> "left " + file + ": " + e);
    }
  }

  Path path() {
    return path;
  }

  MemorySegment memory() {
    return memory;
  }

  /** Gives up a file that never came into use. */
  void discard() {
    try (this) {
      removeName();
    } catch (IOException e) {
      LOG.log(Logger.Level.WARNING, "could not remove " + path, e);
    }
  }

  /** Takes the name away; the memory stays as long as somebody maps it. */
  void removeName() throws IOException {
    Files.deleteIfExists(path);
  }

  /** Whether the process that created the file still runs. */
  boolean isOwnerAlive() {
    try (FileLock lock = channel.tryLock(0, Long.MAX_VALUE, true)) {
      return lock == null;
    } catch (OverlappingFileLockException e) {
      return true; // The owner is another thread of this very process.
    } catch (IOException e) {
      return true; // Nothing can be said; the deadline will.
    }
  }

  /**
   * Gives the memory back. Closing again does nothing.
   *
   * @throws IllegalStateException if a native call of another thread uses it; nothing changes
   */
  @Override
  public void close() {
    if (arena.scope().isAlive()) {
      arena.close();
    }
    try {
      channel.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
