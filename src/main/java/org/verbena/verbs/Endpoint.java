package org.verbena.verbs;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;

/**
 * One end of a reliable connection: what the other end must know to connect.
 *
 * @param queuePair number of the queue pair, 24 bits
 * @param packetSequence number of the first packet it will send, 24 bits
 * @param gid the port's identifier; zero on an InfiniBand subnet that routes by LID
 * @param gidType what the GID stands for
 * @param lid the port's LID; 0 on Ethernet
 * @param mtu the largest the port takes now
 * @param readDepth reads and atomics it can answer, and have under way, at once; 0 to 255
 */
public record Endpoint(
    int queuePair, int packetSequence, Gid gid, GidType gidType, int lid, Mtu mtu, int readDepth) {
  /** Bytes of {@link #encode()}. */
  public static final int BYTES = 4 + 4 + Gid.BYTES + 1 + 2 + 1 + 1;

  private static final int MASK_24 = 0xff_ffff;

  public Endpoint {
    if ((queuePair & ~MASK_24) != 0 || (packetSequence & ~MASK_24) != 0) {
      throw new IllegalArgumentException(
          "queue pair number 0x%x and packet sequence number 0x%x must have 24 bits"
              .formatted(queuePair, packetSequence));
    }
    if ((lid & ~0xffff) != 0 || (readDepth & ~0xff) != 0) {
      throw new IllegalArgumentException(
          "LID %d must have 16 bits and read depth %d 8".formatted(lid, readDepth));
    }
  }

  /** The fields in their order, most significant byte first. */
  public byte[] encode() {
    return ByteBuffer.allocate(BYTES)
        .putInt(queuePair)
        .putInt(packetSequence)
        .putLong(gid.prefix())
        .putLong(gid.interfaceId())
        .put((byte) gidType.value())
        .putShort((short) lid)
        .put((byte) mtu.value())
        .put((byte) readDepth)
        .array();
  }

  /** What {@link #encode()} wrote; refuses anything else. */
  public static Endpoint decode(ByteBuffer bytes) {
    try {
      return new Endpoint(
          bytes.getInt(),
          bytes.getInt(),
          new Gid(bytes.getLong(), bytes.getLong()),
          GidType.of(bytes.get()),
          bytes.getShort() & 0xffff,
          Mtu.of(bytes.get()),
          bytes.get() & 0xff);
    } catch (BufferUnderflowException e) {
      throw new IllegalArgumentException("an endpoint takes " + BYTES + " bytes", e);
    }
  }
}
