package org.verbena.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The memory that this machine has to give. */
final class FreeMemory {
  private static final Path INFO = Path.of("/proc/meminfo");

  private FreeMemory() {}

  /** Bytes that can be had without swapping, by the kernel's own estimate. */
  static long bytes() throws IOException {
    for (String line : Files.readAllLines(INFO)) {
      String[] words = line.split("\\s+", -1);
      if (words[0].equals("MemAvailable:")) {
        return Long.parseLong(words[1]) << 10;
      }
    }
    throw new IOException(INFO + " does not tell what is available");
  }
}
