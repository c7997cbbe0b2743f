package org.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A global identifier: 16 bytes, written like an IPv6 address.
 *
 * @param prefix the first eight bytes, most significant first
 * @param interfaceId the last eight bytes, most significant first
 */
public record Gid(long prefix, long interfaceId) {
  /** Bytes of a GID. */
  public static final int BYTES = 16;

  private static final ValueLayout.OfLong NETWORK_LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

  /** The GID of {@code address}: an IPv4 address becomes {@code ::ffff:a.b.c.d}. */
  public static Gid of(InetAddress address) {
    ByteBuffer bytes = ByteBuffer.wrap(address.getAddress());
    return bytes.capacity() == 4
        ? new Gid(0, 0xffff_0000_0000L | (bytes.getInt() & 0xffff_ffffL))
        : new Gid(bytes.getLong(), bytes.getLong());
  }

  static Gid read(MemorySegment memory, long offset) {
    return new Gid(memory.get(NETWORK_LONG, offset), memory.get(NETWORK_LONG, offset + 8));
  }

  void write(MemorySegment memory, long offset) {
    memory.set(NETWORK_LONG, offset, prefix);
    memory.set(NETWORK_LONG, offset + 8, interfaceId);
  }

  /** Whether this is the hole of a table. */
  public boolean isZero() {
    return prefix == 0 && interfaceId == 0;
  }

  /** Whether this is {@code ::ffff:a.b.c.d}, an IPv4 address. */
  public boolean isIpv4() {
    return prefix == 0 && interfaceId >>> 32 == 0xffff;
  }

  /** Whether this is in {@code fe80::/64} or {@code 169.254.0.0/16}: not routable. */
  public boolean isLinkLocal() {
    return prefix == 0xfe80_0000_0000_0000L
        || (isIpv4() && (interfaceId >>> 16 & 0xffff) == 0xa9fe);
  }

  /** The address that this GID was made of; for IPv4-mapped ones an IPv4 address. */
  public InetAddress address() {
    byte[] bytes = ByteBuffer.allocate(BYTES).putLong(prefix).putLong(interfaceId).array();
    try {
      return InetAddress.getByAddress(bytes);
    } catch (UnknownHostException e) {
      throw new AssertionError("16 bytes are an address", e);
    }
  }

  /** As {@code inet_ntop(3)} writes it, with its longest run of zeros left out. */
  @Override
  public String toString() {
    if (isIpv4()) {
      return "::ffff:" + address().getHostAddress();
    }
    String text = ":" + address().getHostAddress() + ":";
    for (int zeros = 8; zeros > 1; zeros--) {
      String run = ":" + "0:".repeat(zeros);
      int start = text.indexOf(run);
      if (start >= 0) {
        String left = text.substring(0, start);
        String right = text.substring(start + run.length());
        text = left + "::" + right;
        break;
      }
    }
    return trim(text);
  }

  /** Without the colons that {@code toString} put around. */
  private static String trim(String text) {
    String left = text.startsWith("::") ? text : text.substring(1);
    return left.endsWith("::") ? left : left.substring(0, left.length() - 1);
  }
}
