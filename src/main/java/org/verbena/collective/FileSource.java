package org.verbena.collective;

import static java.nio.file.LinkOption.NOFOLLOW_LINKS;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;

/**
 * Files as a source of parameters, by their names without their folders. A file that is written,
 * cut, or replaced while it is sent is noticed by its size, the time of its last change, which only
 * the kernel sets, and its identity. One thread at a time.
 */
public final class FileSource implements ParameterSource, AutoCloseable {
  /** The kernel's clock for files may move in steps as long as this. */
  private static final Duration CLOCK_STEP = Duration.ofMillis(20);

  /** A file as it was when it was opened. */
  private record Opened(Path path, FileChannel channel, Map<String, Object> state) {}

  private final List<Opened> files = new ArrayList<>();
  private final List<Parameter> parameters = new ArrayList<>();

  /**
   * Opens the files.
   *
   * @throws IOException if one can't be read, is no regular file, or has the name of another
   */
  public FileSource(List<Path> paths) throws IOException {
    try {
      for (Path path : paths) {
        open(path.toRealPath());
      }
    } catch (IOException | RuntimeException e) {
      close();
      throw e;
    }
  }

  private void open(Path path) throws IOException {
    String name = String.valueOf(path.getFileName());
    if (!Files.isRegularFile(path)) {
      throw new IOException(path + " is no regular file");
    }
    if (parameters.stream().anyMatch(other -> other.name().equals(name))) {
      throw new IOException(path + ": another file of the name " + name + " is sent");
    }
    Map<String, Object> state = state(path);
    awaitClock((FileTime) Objects.requireNonNull(state.get("ctime")));
    FileChannel channel = FileChannel.open(path, StandardOpenOption.READ);
    files.add(new Opened(path, channel, state));
    parameters.add(new Parameter(name, channel.size()));
  }

  private static Map<String, Object> state(Path path) throws IOException {
    return Files.readAttributes(path, "unix:size,ctime,ino,dev", NOFOLLOW_LINKS);
  }

  /** A later change must get a later time. */
  private static void awaitClock(FileTime changed) {
    Instant distinct = changed.toInstant().plus(CLOCK_STEP);
    Duration left = Duration.between(Instant.now(), distinct);
    if (left.isPositive() && left.compareTo(CLOCK_STEP) <= 0) {
      LockSupport.parkNanos(left.toNanos());
    }
  }

  @Override
  public List<Parameter> parameters() {
    return List.copyOf(parameters);
  }

  @Override
  public void read(int parameter, long offset, MemorySegment to, long at, int bytes)
      throws IOException {
    Opened file = files.get(parameter);
    ByteBuffer buffer = to.asSlice(at, bytes).asByteBuffer();
    while (buffer.hasRemaining()) {
      if (file.channel.read(buffer, offset + buffer.position()) < 0) {
        throw new IOException(
            "%s was cut while it was sent: it had %d bytes, and ends at %d now"
                .formatted(file.path, parameters.get(parameter).bytes(), file.channel.size()));
      }
    }
  }

  @Override
  public void verify(int checksum) throws IOException {
    for (Opened file : files) {
      Map<String, Object> now;
      try {
        now = state(file.path);
      } catch (NoSuchFileException e) {
        throw new IOException(file.path + " was removed while it was sent", e);
      }
      if (!now.equals(file.state)) {
        throw new IOException(
            "%s changed while it was sent: it was %s, it is %s"
                .formatted(file.path, file.state, now));
      }
    }
  }

  @Override
  public void close() throws IOException {
    for (Opened file : files) {
      file.channel.close();
    }
  }
}
