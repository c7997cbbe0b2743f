package org.verbena.layout;

import java.util.Map;

/**
 * The choices that change a buffer's layout but not what is exchanged. All ranks must make the same
 * ones, for an offset means the same on every rank.
 *
 * @param kind the kind of memory that peers write to
 * @param halves 2 for two rounds in flight, 1 for strictly sequential rounds
 * @param compact whether rows on their way back reuse the memory that messages left from
 * @param scale the factor, at least 1, by which the allocation exceeds the required bytes
 */
public record LayoutOptions(Kind kind, int halves, boolean compact, double scale) {
  /** The environment variable that holds {@link #scale()}. */
  public static final String SCALE_VARIABLE = "RDMA_BUFFER_SCALE";

  /** How peers reach the buffer. */
  public enum Kind {
    /** A network device reads from send regions and writes to the peers' receive regions. */
    RDMA,
    /** Peers map the buffer and write to its receive regions; send regions are not needed. */
    SHARED
  }

  /**
   * Checks the choices.
   *
   * @throws IllegalArgumentException naming the value and the rule it breaks
   */
  public LayoutOptions {
    if (halves != 1 && halves != 2) {
      throw new IllegalArgumentException("halves must be 1 or 2, but is " + halves);
    }
    if (!(scale >= 1) || Double.isInfinite(scale)) {
      throw new IllegalArgumentException(
          SCALE_VARIABLE + " must be a finite number of at least 1, but is " + scale);
    }
  }

  /** Two halves, not compact, no larger than required. */
  public static LayoutOptions of(Kind kind) {
    return new LayoutOptions(kind, 2, false, 1);
  }

  /** These options with another number of halves. */
  public LayoutOptions withHalves(int halves) {
    return new LayoutOptions(kind, halves, compact, scale);
  }

  /** These options, compact or not. */
  public LayoutOptions withCompact(boolean compact) {
    return new LayoutOptions(kind, halves, compact, scale);
  }

  /** These options with another scale. */
  public LayoutOptions withScale(double scale) {
    return new LayoutOptions(kind, halves, compact, scale);
  }

  /**
   * These options with the scale that {@value #SCALE_VARIABLE} sets; unchanged if it is unset or
   * blank.
   *
   * @param environment usually {@link System#getenv()}
   * @throws IllegalArgumentException if the value is not a finite number of at least 1
   */
  public LayoutOptions withScaleFrom(Map<String, String> environment) {
    String text = environment.getOrDefault(SCALE_VARIABLE, "");
    if (text.isBlank()) {
      return this;
    }
    try {
      return withScale(Double.parseDouble(text));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          SCALE_VARIABLE + " must be a finite number of at least 1, but is '" + text + "'", e);
    }
  }
}
