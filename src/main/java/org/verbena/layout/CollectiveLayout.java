package org.verbena.layout;

import static java.lang.Math.addExact;
import static java.lang.Math.multiplyExact;

import java.util.ArrayList;
import java.util.List;

/**
 * Where counters, messages, chunks and their signals lie in the window of the collective moves. An
 * offset is counted in bytes from the start of the window and means the same on every rank. Regions
 * start at multiples of 64. For R ranks:
 *
 * <ul>
 *   <li><b>counters</b> [ceil(counters / R)], a 64-bit word each on a 64-byte line of its own;
 *       counter i is on rank i mod R. <b>counter result</b>, a word in which a rank finds what a
 *       counter held before.
 *   <li><b>links</b> and <b>pieces</b>, see {@link RingLayout}.
 *   <li><b>chunks</b>, see {@link ChunkLayout}.
 * </ul>
 *
 * <p>Signals that different peers write never share a line, and what the network adds to shares one
 * with nothing else. Instances are immutable and safe for use by any thread.
 */
public final class CollectiveLayout {
  static final int LINE = 64;
  private static final int PAGE = 4096;

  private final CollectiveShape shape;
  private final long counters;
  private final int countersPerRank;
  private final long counterResult;
  private final RingLayout links;
  private final RingLayout pieces;
  private final ChunkLayout chunks;
  private final long bytes;
  private final List<Region> regions;

  /**
   * Lays out a window.
   *
   * @throws IllegalArgumentException if its size does not fit in 63 bits
   */
  public CollectiveLayout(CollectiveShape shape) {
    this.shape = shape;
    Regions all = new Regions();
    try {
      countersPerRank = Math.ceilDiv(shape.counters(), shape.ranks());
      counters = all.add("counters", multiplyExact((long) LINE, (long) countersPerRank));
      counterResult = all.add("counter result", LINE);
      links = new RingLayout("link", shape.links(), all);
      pieces = new RingLayout("piece", shape.pieces(), all);
      chunks = new ChunkLayout(shape.ranks(), shape.chunks(), all);
      bytes = BufferLayout.align(all.end, PAGE);
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "the window of " + shape + " has more than 2^63 - 1 bytes; make it smaller", e);
    }
    regions = List.copyOf(all.regions);
  }

  /** The shape this layout was made for. */
  public CollectiveShape shape() {
    return shape;
  }

  /** The bytes of the whole window, a multiple of 4096. */
  public long bytes() {
    return bytes;
  }

  /** All regions that are not empty, in ascending order of offset. */
  public List<Region> regions() {
    return regions;
  }

  /** The rank on which a counter is. */
  public int counterRank(int counter) {
    return BufferLayout.check("counter", counter, shape.counters()) % shape.ranks();
  }

  /** The word of a counter, in the window of {@link #counterRank}. */
  public long counter(int counter) {
    return counters
        + (long) LINE * (BufferLayout.check("counter", counter, shape.counters()) / shape.ranks());
  }

  /** The word in which a rank finds what a counter held before. */
  public long counterResult() {
    return counterResult;
  }

  /** The rings of activation exchange. */
  public RingLayout links() {
    return links;
  }

  /** The rings of result gather. */
  public RingLayout pieces() {
    return pieces;
  }

  /** The slots of parameter sync. */
  public ChunkLayout chunks() {
    return chunks;
  }

  /** Places regions one after the other, each at a multiple of 64. */
  static final class Regions {
    private final List<Region> regions = new ArrayList<>();
    private long end;

    long add(String name, long bytes) {
      long offset = end;
      if (bytes > 0) {
        long padded = BufferLayout.align(bytes, LINE);
        end = addExact(end, padded);
        regions.add(new Region(name, 0, offset, padded));
      }
      return offset;
    }
  }
}
