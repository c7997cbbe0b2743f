package org.verbena.verbs;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;

/**
 * Memory of a peer, as the peer's {@link MemoryRegion#remote()} describes it.
 *
 * @param address its first byte, a virtual address of the peer, unsigned
 * @param length bytes, 0 or more
 * @param key what opens it
 */
public record RemoteRegion(long address, long length, RemoteKey key) {
  /** Bytes of {@link #encode()}. */
  public static final int BYTES = 20;

  public RemoteRegion {
    if (length < 0 || (length > 0 && Long.compareUnsigned(address + (length - 1), address) < 0)) {
      throw new IllegalArgumentException(
          "%d bytes at 0x%x are not in a 64-bit address space".formatted(length, address));
    }
  }

  /** Address, length and key, most significant byte first. */
  public byte[] encode() {
    return ByteBuffer.allocate(BYTES).putLong(address).putLong(length).putInt(key.value()).array();
  }

  /** What {@link #encode()} wrote; refuses anything else. */
  public static RemoteRegion decode(ByteBuffer bytes) {
    try {
      return new RemoteRegion(bytes.getLong(), bytes.getLong(), new RemoteKey(bytes.getInt()));
    } catch (BufferUnderflowException e) {
      throw new IllegalArgumentException("a remote region takes " + BYTES + " bytes", e);
    }
  }
}
