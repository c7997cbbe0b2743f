package org.verbena.collective;

/**
 * One of the things that a parameter sync carries: a tensor, a file.
 *
 * @param name what source and target know it by
 * @param bytes its size, which may be larger than any buffer
 */
public record Parameter(String name, long bytes) {
  /** Checks the size. */
  public Parameter {
    if (bytes < 0) {
      throw new IllegalArgumentException(name + " has " + bytes + " bytes");
    }
  }
}
