package org.verbena.collective;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.verbena.layout.ChunkLayout;

/** The target of a sync, put together from chunks. */
final class Writing {
  /** A longer list of parameters is not believed. */
  private static final int MOST_LIST_BYTES = 256 << 20;

  private final ParameterTarget target;
  private final SyncProgress progress;
  private byte @Nullable [] list;
  private int listed;
  private List<Parameter> parameters = List.of();
  private boolean begun;
  private int parameter;
  private long offset;
  private long total;
  private long passed;
  private int checksum;

  Writing(ParameterTarget target, SyncProgress progress) {
    this.target = target;
    this.progress = progress;
  }

  long total() {
    return total;
  }

  int checksum() {
    return checksum;
  }

  /** Takes a chunk; returns whether it was the last. */
  boolean take(Chunk chunk) throws IOException {
    switch (chunk.kind()) {
      case Chunk.LIST -> takeList(chunk);
      case Chunk.PART -> takePart(chunk);
      case Chunk.END -> checkEnd(chunk);
      default -> throw new IOException("a chunk of unknown kind " + chunk.kind());
    }
    return chunk.kind() == Chunk.END;
  }

  private void takeList(Chunk chunk) throws IOException {
    byte[] all = list;
    if (all == null) {
      require(
          chunk.parameter() >= 0 && chunk.parameter() <= MOST_LIST_BYTES,
          "the list of parameters has " + chunk.parameter() + " bytes");
      all = new byte[chunk.parameter()];
      list = all;
    }
    require(
        chunk.offset() == listed && chunk.bytes() <= all.length - listed,
        "the list of parameters has a gap at " + listed);
    MemorySegment.copy(
        chunk.memory(),
        ValueLayout.JAVA_BYTE,
        ChunkLayout.HEADER_BYTES,
        all,
        listed,
        chunk.bytes());
    listed += chunk.bytes();
    if (listed == all.length) {
      parameters = decode(all);
      for (Parameter each : parameters) {
        total = Math.addExact(total, each.bytes());
      }
      begun = true;
      target.begin(parameters);
    }
  }

  private static List<Parameter> decode(byte[] bytes) throws IOException {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
      List<Parameter> all = new ArrayList<>();
      for (int left = in.readInt(); left > 0; left--) {
        all.add(new Parameter(in.readUTF(), in.readLong()));
      }
      return List.copyOf(all);
    }
  }

  private void takePart(Chunk chunk) throws IOException {
    skipFull();
    boolean isNext =
        begun
            && parameter < parameters.size()
            && chunk.parameter() == parameter
            && chunk.offset() == offset
            && chunk.bytes() > 0
            && chunk.bytes() <= parameters.get(parameter).bytes() - offset;
    if (!isNext) {
      throw new IOException(
          "parameter %d comes from %d on, expected parameter %d from %d on"
              .formatted(chunk.parameter(), chunk.offset(), parameter, offset));
    }
    target.write(parameter, offset, chunk.memory(), ChunkLayout.HEADER_BYTES, chunk.bytes());
    checksum = Crc.combine(checksum, chunk.checksum(), chunk.bytes());
    offset += chunk.bytes();
    passed += chunk.bytes();
    progress.passed(passed, total);
  }

  private void checkEnd(Chunk chunk) throws IOException {
    skipFull();
    long sentTotal = chunk.memory().get(ValueLayout.JAVA_LONG, ChunkLayout.HEADER_BYTES);
    int sentSum = (int) chunk.memory().get(ValueLayout.JAVA_LONG, ChunkLayout.HEADER_BYTES + 8);
    require(
        begun && parameter == parameters.size() && passed == sentTotal && checksum == sentSum,
        "the source has sent %d bytes with checksum %08x, here are %d bytes with checksum %08x"
            .formatted(sentTotal, sentSum, passed, checksum));
  }

  private void skipFull() {
    while (parameter < parameters.size() && offset == parameters.get(parameter).bytes()) {
      parameter++;
      offset = 0;
    }
  }

  /** All is there and in its place; makes it last. */
  void finish() throws IOException {
    target.finish(checksum);
  }

  void commit() throws IOException {
    target.commit();
  }

  void abort() {
    if (begun) {
      target.abort();
    }
  }

  private static void require(boolean right, String otherwise) throws IOException {
    if (!right) {
      throw new IOException(otherwise);
    }
  }
}
