package org.verbena.cli;

import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.verbena.verbs.Endpoint;
import org.verbena.verbs.Gid;

/**
 * How {@code ibv_rc_pingpong} tells its endpoint: LID, queue pair, packet sequence number and GID
 * as {@code %04x:%06x:%06x:} and 32 hexadecimal digits, ended by a zero byte.
 */
record PingpongAddress(int lid, int queuePair, int packetSequence, Gid gid) {
  static final int BYTES = 4 + 1 + 6 + 1 + 6 + 1 + 32 + 1;

  private static final Pattern FORM =
      Pattern.compile(
          "([0-9a-f]{1,8}):([0-9a-f]{1,8}):([0-9a-f]{1,8}):([0-9a-f]{16})([0-9a-f]{16})");

  static PingpongAddress of(Endpoint endpoint) {
    return new PingpongAddress(
        endpoint.lid(), endpoint.queuePair(), endpoint.packetSequence(), endpoint.gid());
  }

  byte[] encode() {
    String text =
        "%04x:%06x:%06x:%016x%016x\0"
            .formatted(lid, queuePair, packetSequence, gid.prefix(), gid.interfaceId());
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  static PingpongAddress decode(byte[] bytes) {
    String text = new String(bytes, StandardCharsets.US_ASCII);
    Matcher matcher = FORM.matcher(text.replace("\0", ""));
    if (!matcher.matches()) {
      throw new IllegalArgumentException("the peer is no pingpong: it sent '" + text.strip() + "'");
    }
    return new PingpongAddress(
        Integer.parseUnsignedInt(matcher.group(1), 16),
        Integer.parseUnsignedInt(matcher.group(2), 16),
        Integer.parseUnsignedInt(matcher.group(3), 16),
        new Gid(
            Long.parseUnsignedLong(matcher.group(4), 16),
            Long.parseUnsignedLong(matcher.group(5), 16)));
  }

  @Override
  public String toString() {
    return "LID 0x%04x, QPN 0x%06x, PSN 0x%06x, GID %s"
        .formatted(lid, queuePair, packetSequence, gid);
  }
}
