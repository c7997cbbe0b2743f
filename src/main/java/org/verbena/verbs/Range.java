package org.verbena.verbs;

/** The check of a number against its bounds. */
final class Range {
  private Range() {}

  /**
   * Requires a value within bounds that belong to it.
   *
   * @throws IllegalArgumentException with the name, the value and the bounds
   */
  static void require(String name, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          "%s is %d; it must be %d to %d".formatted(name, value, least, most));
    }
  }
}
