package org.verbena.cli;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.verbena.collective.Parameter;
import org.verbena.collective.ParameterTarget;

/** Takes parameters into memory, to see that they arrive; they are gone when it is closed. */
final class MemoryTarget implements ParameterTarget, AutoCloseable {
  private static final long PART = 1 << 30;

  private final Arena arena = Arena.ofConfined();
  private final List<MemorySegment> segments = new ArrayList<>();

  @Override
  public void begin(List<Parameter> parameters) throws IOException {
    long needed = parameters.stream().mapToLong(Parameter::bytes).reduce(0, Math::addExact);
    long free = FreeMemory.bytes();
    if (needed > free) {
      throw new IOException(
          "%,d bytes do not fit: memory has %,d bytes free; receive into files with --to"
              .formatted(needed, free));
    }
    for (Parameter parameter : parameters) {
      segments.add(arena.allocate(parameter.bytes(), 64));
    }
  }

  @Override
  public void write(int parameter, long offset, MemorySegment from, long at, int bytes) {
    MemorySegment.copy(from, at, segments.get(parameter), offset, bytes);
  }

  @Override
  public void finish(int checksum) throws IOException {
    CRC32C crc = new CRC32C();
    for (MemorySegment segment : segments) {
      for (long at = 0; at < segment.byteSize(); at += PART) {
        crc.update(segment.asSlice(at, Math.min(PART, segment.byteSize() - at)).asByteBuffer());
      }
    }
    if ((int) crc.getValue() != checksum) {
      throw new IOException(
          "what arrived has checksum %08x, at the source it had %08x"
              .formatted(crc.getValue(), checksum));
    }
  }

  @Override
  public void commit() {}

  @Override
  public void abort() {}

  @Override
  public void close() {
    arena.close();
  }
}
