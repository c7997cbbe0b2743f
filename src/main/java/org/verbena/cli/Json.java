package org.verbena.cli;

import java.util.Map;
import tools.jackson.jr.ob.JSON;

/** Figures for programs to read. */
final class Json {
  private static final JSON WRITER = JSON.std.with(JSON.Feature.PRETTY_PRINT_OUTPUT);

  private Json() {}

  /** One object, its members in the map's order; numbers, strings, lists and maps are taken. */
  static String of(Map<String, ?> members) {
    return WRITER.asString(members);
  }
}
