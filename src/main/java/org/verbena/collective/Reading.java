package org.verbena.collective;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import org.verbena.layout.ChunkLayout;

/**
 * The source of a sync, cut in chunks: first the list of parameters, then their parts, then the
 * end.
 */
final class Reading {
  /** What a word can number. */
  private static final long MOST_CHUNKS = 1L << 31;

  private final ParameterSource source;
  private final SyncProgress progress;
  private final int chunkBytes;
  private final List<Parameter> parameters;
  private final byte[] list;
  private final long total;
  private int listed;
  private int parameter;
  private long offset;
  private long passed;
  private int checksum;

  Reading(ParameterSource source, int chunkBytes, SyncProgress progress) throws IOException {
    this.source = source;
    this.progress = progress;
    this.chunkBytes = chunkBytes;
    parameters = source.parameters();
    list = encode(parameters);
    long sum = 0;
    for (Parameter each : parameters) {
      sum = Math.addExact(sum, each.bytes());
    }
    total = sum;
    // Each parameter may end with a chunk that is not full.
    long most = total / chunkBytes + list.length / chunkBytes + parameters.size() + 2L;
    if (most > MOST_CHUNKS) {
      throw new IOException(
          "%d bytes in chunks of %d are %d chunks, at most %d can be; open it with larger chunks"
              .formatted(total, chunkBytes, most, MOST_CHUNKS));
    }
  }

  private static byte[] encode(List<Parameter> parameters) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeInt(parameters.size());
      for (Parameter each : parameters) {
        out.writeUTF(each.name());
        out.writeLong(each.bytes());
      }
    }
    return bytes.toByteArray();
  }

  long total() {
    return total;
  }

  int checksum() {
    return checksum;
  }

  /** Fills and seals the next chunk; returns whether it is the last. */
  boolean fill(Chunk chunk, long number) throws IOException {
    if (listed < list.length) {
      fillList(chunk, number);
      return false;
    }
    while (parameter < parameters.size() && offset == parameters.get(parameter).bytes()) {
      parameter++;
      offset = 0;
    }
    if (parameter < parameters.size()) {
      fillPart(chunk, number);
      return false;
    }
    source.verify(checksum);
    MemorySegment memory = chunk.memory();
    memory.set(ValueLayout.JAVA_LONG, ChunkLayout.HEADER_BYTES, total);
    memory.set(ValueLayout.JAVA_LONG, ChunkLayout.HEADER_BYTES + 8, checksum);
    chunk.seal(number, Chunk.END, 0, 0, 16);
    return true;
  }

  private void fillList(Chunk chunk, long number) {
    int bytes = Math.min(chunkBytes, list.length - listed);
    MemorySegment.copy(
        list, listed, chunk.memory(), ValueLayout.JAVA_BYTE, ChunkLayout.HEADER_BYTES, bytes);
    chunk.seal(number, Chunk.LIST, list.length, listed, bytes);
    listed += bytes;
  }

  private void fillPart(Chunk chunk, long number) throws IOException {
    int bytes = (int) Math.min(chunkBytes, parameters.get(parameter).bytes() - offset);
    source.read(parameter, offset, chunk.memory(), ChunkLayout.HEADER_BYTES, bytes);
    chunk.seal(number, Chunk.PART, parameter, offset, bytes);
    checksum = Crc.combine(checksum, chunk.checksum(), bytes);
    offset += bytes;
    passed += bytes;
    progress.passed(passed, total);
  }
}
