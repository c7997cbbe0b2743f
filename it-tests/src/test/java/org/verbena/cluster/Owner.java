package org.verbena.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;

/** Says to whom containers belong, so that the next run knows what a killed one has left. */
final class Owner {
  /** Containers that stay until somebody takes them down. */
  static final String NOBODY = "nobody";

  private Owner() {}

  /** This process: machine, process id and start, as ids are used again. */
  static String thisProcess() {
    return text(ProcessHandle.current());
  }

  static boolean isDead(String owner) {
    String[] parts = owner.split(" ", 3);
    if (parts.length < 3 || !parts[0].equals(machine())) {
      return false;
    }
    Optional<ProcessHandle> process = ProcessHandle.of(Long.parseLong(parts[1]));
    return process.isEmpty() || !text(process.get()).equals(owner);
  }

  private static String text(ProcessHandle process) {
    Instant start = process.info().startInstant().orElse(Instant.EPOCH);
    return "%s %d %s".formatted(machine(), process.pid(), start);
  }

  private static String machine() {
    try {
      return Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
