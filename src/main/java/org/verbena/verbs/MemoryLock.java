package org.verbena.verbs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** How much memory this process may lock, as the kernel tells it. */
final class MemoryLock {
  private static final Path LIMITS = Path.of("/proc/self/limits");
  private static final String LINE = "Max locked memory";

  private MemoryLock() {}

  /** For example "8388608 bytes" or "unlimited"; "unknown" where the kernel does not tell. */
  static String limit() {
    try {
      return Files.readAllLines(LIMITS).stream()
          .filter(line -> line.startsWith(LINE))
          .map(line -> line.substring(LINE.length()).strip().split("\\s+", 2)[0])
          .map(soft -> soft.equals("unlimited") ? soft : soft + " bytes")
          .findFirst()
          .orElse("unknown");
    } catch (IOException e) {
      return "unknown";
    }
  }
}
