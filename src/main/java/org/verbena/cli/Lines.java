package org.verbena.cli;

import java.io.ByteArrayOutputStream;
import java.util.function.Consumer;

/** Cuts bytes into lines. Not thread-safe. */
final class Lines {
  private final Consumer<byte[]> sink;
  private final ByteArrayOutputStream line = new ByteArrayOutputStream();

  /** Gives each line to a sink, without its line feed. */
  Lines(Consumer<byte[]> sink) {
    this.sink = sink;
  }

  void add(byte[] bytes) {
    for (byte b : bytes) {
      add(b);
    }
  }

  void add(int b) {
    if (b == '\n') {
      sink.accept(line.toByteArray());
      line.reset();
    } else {
      line.write(b);
    }
  }

  /** The end of the bytes; a last line needs no line feed. */
  void end() {
    if (line.size() > 0) {
      sink.accept(line.toByteArray());
      line.reset();
    }
  }
}
