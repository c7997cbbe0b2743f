package org.verbena.collective;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.verbena.layout.ChunkLayout;

/**
 * A slot of this rank's window with its header, little-endian: int64 number of the chunk, int32
 * kind, int32 bytes, int32 parameter, int32 checksum of the bytes, int64 offset, int32 checksum of
 * the header up to here.
 */
final class Chunk {
  /** A part of the list of parameters; the header's parameter is the length of the whole list. */
  static final int LIST = 0;

  /** A part of a parameter. */
  static final int PART = 1;

  /** The number of bytes of all parameters and their checksum, two int64. */
  static final int END = 2;

  private static final int CHECKED = 32;

  private final MemorySegment memory;
  private final ByteBuffer buffer;
  private final CRC32C crc = new CRC32C();

  Chunk(MemorySegment window, long offset, int bytes) {
    memory = window.asSlice(offset, ChunkLayout.HEADER_BYTES + bytes);
    buffer = memory.asByteBuffer();
  }

  /** Header and content; the content begins after the header. */
  MemorySegment memory() {
    return memory;
  }

  /** Completes a chunk whose content is in its place. */
  void seal(long number, int kind, int parameter, long offset, int bytes) {
    memory.set(ValueLayout.JAVA_LONG, 0, number);
    memory.set(ValueLayout.JAVA_INT, 8, kind);
    memory.set(ValueLayout.JAVA_INT, 12, bytes);
    memory.set(ValueLayout.JAVA_INT, 16, parameter);
    memory.set(ValueLayout.JAVA_INT, 20, sum(ChunkLayout.HEADER_BYTES, bytes));
    memory.set(ValueLayout.JAVA_LONG, 24, offset);
    memory.set(ValueLayout.JAVA_INT, CHECKED, sum(0, CHECKED));
  }

  /** Whether this is the chunk of that number, to the bit. */
  boolean isWhole(long number) {
    return memory.get(ValueLayout.JAVA_INT, CHECKED) == sum(0, CHECKED)
        && memory.get(ValueLayout.JAVA_LONG, 0) == number
        && bytes() >= 0
        && bytes() <= memory.byteSize() - ChunkLayout.HEADER_BYTES
        && checksum() == sum(ChunkLayout.HEADER_BYTES, bytes());
  }

  int kind() {
    return memory.get(ValueLayout.JAVA_INT, 8);
  }

  int bytes() {
    return memory.get(ValueLayout.JAVA_INT, 12);
  }

  int parameter() {
    return memory.get(ValueLayout.JAVA_INT, 16);
  }

  int checksum() {
    return memory.get(ValueLayout.JAVA_INT, 20);
  }

  long offset() {
    return memory.get(ValueLayout.JAVA_LONG, 24);
  }

  private int sum(int from, int bytes) {
    crc.reset();
    crc.update(buffer.clear().position(from).limit(from + bytes));
    return (int) crc.getValue();
  }
}
