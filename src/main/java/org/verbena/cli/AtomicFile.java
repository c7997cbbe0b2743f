package org.verbena.cli;

import static java.nio.file.StandardCopyOption.ATOMIC_MOVE;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.TRUNCATE_EXISTING;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;

/** A file that is there whole, or not at all. */
final class AtomicFile {
  private AtomicFile() {}

  /** Writes a file beside the one named, part by part, then gives it that name. */
  static void write(Path file, ByteBuffer... content) throws IOException {
    // Renaming over a device or a pipe would put a file in its place.
    if (Files.exists(file) && !Files.isRegularFile(file)) {
      throw new IOException(file + ": not a regular file");
    }
    var name = "." + file.getFileName() + "." + ProcessHandle.current().pid() + ".tmp";
    var temporary = file.resolveSibling(name);
    try {
      try (var channel = FileChannel.open(temporary, CREATE, TRUNCATE_EXISTING, WRITE)) {
        for (var part : content) {
          while (part.hasRemaining()) {
            channel.write(part);
          }
        }
        channel.force(true);
      }
      Files.move(temporary, file, ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(temporary);
    }
  }
}
