package org.verbena.bootstrap;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;

/** The comparison behind {@link Group#agree}. */
final class Agreement {
  private Agreement() {}

  /** Writes fields as pairs of strings, each with its length in bytes before it. */
  static byte[] encode(SequencedMap<String, String> fields) {
    List<byte[]> texts = new ArrayList<>();
    fields.forEach(
        (name, value) -> {
          texts.add(name.getBytes(UTF_8));
          texts.add(value.getBytes(UTF_8));
        });
    int size = texts.stream().mapToInt(text -> Integer.BYTES + text.length).sum();
    ByteBuffer out = ByteBuffer.allocate(size);
    texts.forEach(text -> out.putInt(text.length).put(text));
    return out.array();
  }

  /** Throws if the fields of any two ranks differ. Same input and so same outcome on every rank. */
  static void check(List<byte[]> ranks) {
    // field -> value -> the ranks that have it
    SequencedMap<String, SequencedMap<String, List<Integer>>> values = new LinkedHashMap<>();
    List<Map<String, String>> fields = ranks.stream().map(Agreement::decode).toList();
    for (Map<String, String> mine : fields) {
      mine.keySet().forEach(name -> values.putIfAbsent(name, new LinkedHashMap<>()));
    }
    for (int rank = 0; rank < fields.size(); rank++) {
      for (var entry : values.entrySet()) {
        String value = fields.get(rank).getOrDefault(entry.getKey(), "(not given)");
        entry.getValue().computeIfAbsent(value, _ -> new ArrayList<>()).add(rank);
      }
    }
    List<String> differences = new ArrayList<>();
    values.forEach(
        (name, holders) -> {
          if (holders.size() > 1) {
            List<String> sides = new ArrayList<>();
            holders.forEach((value, who) -> sides.add(value + " on " + Ranks.name(who)));
            differences.add(name + " is " + String.join(", ", sides));
          }
        });
    if (!differences.isEmpty()) {
      throw new GroupException(
          "the ranks disagree: "
              + String.join("; ", differences)
              + ". Start every rank with the same values.");
    }
  }

  private static Map<String, String> decode(byte[] bytes) {
    Map<String, String> fields = new LinkedHashMap<>();
    for (ByteBuffer in = ByteBuffer.wrap(bytes); in.hasRemaining(); ) {
      fields.put(text(in), text(in));
    }
    return fields;
  }

  private static String text(ByteBuffer in) {
    byte[] text = new byte[in.getInt()];
    in.get(text);
    return new String(text, UTF_8);
  }
}
