package org.verbena.bootstrap;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;

/** What a rank's work came to, behind {@link Group#allGatherResults}: its value, or its reason. */
final class Result {
  private static final byte VALUE = 0;
  private static final byte REASON = 1;

  private Result() {}

  static byte[] of(Callable<byte[]> work) {
    try {
      return encode(VALUE, work.call());
    } catch (Exception e) {
      String reason = e.getMessage() == null ? e.toString() : e.getMessage();
      return encode(REASON, reason.getBytes(UTF_8));
    }
  }

  private static byte[] encode(byte kind, byte[] content) {
    byte[] result = new byte[content.length + 1];
    result[0] = kind;
    System.arraycopy(content, 0, result, 1, content.length);
    return result;
  }

  static List<byte[]> values(String operation, List<byte[]> results) {
    List<byte[]> values = new ArrayList<>();
    List<String> reasons = new ArrayList<>();
    for (int rank = 0; rank < results.size(); rank++) {
      byte[] result = results.get(rank);
      byte[] content = Arrays.copyOfRange(result, 1, result.length);
      if (result[0] == VALUE) {
        values.add(content);
      } else {
        reasons.add("rank " + rank + ": " + operation + ": " + new String(content, UTF_8));
      }
    }
    if (!reasons.isEmpty()) {
      throw new GroupException(String.join("; ", reasons));
    }
    return values;
  }
}
