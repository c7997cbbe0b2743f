package org.verbena.collective;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * Parameters in memory: a source, or a target into which the same names and sizes are received;
 * what was received can be a source in turn. A source must not be changed while it is sent; if in
 * the end it is not what was sent, the sync is given up. Nor may a file that is mapped be cut.
 *
 * <p>Add all parameters, in the same order on all ranks, before the first sync. One thread at a
 * time.
 */
public final class MemoryParameters implements ParameterSource, ParameterTarget {
  /** What is checked at once. */
  private static final long CHECKED_BYTES = 64 << 20;

  private final List<Parameter> parameters = new ArrayList<>();
  private final List<MemorySegment> segments = new ArrayList<>();
  private boolean whole = true;

  /** No parameters yet. */
  public MemoryParameters() {}

  /** Adds a parameter, with all the bytes of its memory. */
  public MemoryParameters add(String name, MemorySegment memory) {
    parameters.add(new Parameter(name, memory.byteSize()));
    segments.add(memory);
    return this;
  }

  /**
   * Whether the memory holds all parameters of one source: false from the first part of a sync
   * until all ranks have all, and so if it failed.
   */
  public boolean isWhole() {
    return whole;
  }

  @Override
  public List<Parameter> parameters() {
    return List.copyOf(parameters);
  }

  @Override
  public void read(int parameter, long offset, MemorySegment to, long at, int bytes) {
    MemorySegment.copy(segments.get(parameter), offset, to, at, bytes);
  }

  @Override
  public void verify(int checksum) throws IOException {
    CRC32C now = new CRC32C();
    for (MemorySegment segment : segments) {
      for (long at = 0; at < segment.byteSize(); at += CHECKED_BYTES) {
        long bytes = Math.min(CHECKED_BYTES, segment.byteSize() - at);
        now.update(segment.asSlice(at, bytes).asByteBuffer());
      }
    }
    if ((int) now.getValue() != checksum) {
      throw new IOException(
          "the memory changed while it was sent: it had checksum %08x, it has %08x"
              .formatted(checksum, (int) now.getValue()));
    }
  }

  @Override
  public void begin(List<Parameter> coming) throws IOException {
    if (!coming.equals(parameters)) {
      throw new IOException(
          "the source has %d parameters, the target %d; the first that differs: %s"
              .formatted(coming.size(), parameters.size(), difference(coming)));
    }
    whole = false;
  }

  private String difference(List<Parameter> coming) {
    for (int i = 0; i < Math.min(coming.size(), parameters.size()); i++) {
      if (!coming.get(i).equals(parameters.get(i))) {
        return "%s of the source, %s of the target".formatted(coming.get(i), parameters.get(i));
      }
    }
    return "number %d, which only one of them has"
        .formatted(Math.min(coming.size(), parameters.size()));
  }

  @Override
  public void write(int parameter, long offset, MemorySegment from, long at, int bytes) {
    MemorySegment.copy(from, at, segments.get(parameter), offset, bytes);
  }

  @Override
  public void finish(int checksum) {}

  @Override
  public void commit() {
    whole = true;
  }

  @Override
  public void abort() {}
}
