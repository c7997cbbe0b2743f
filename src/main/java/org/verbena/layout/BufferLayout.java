package org.verbena.layout;

import static java.lang.Math.addExact;
import static java.lang.Math.multiplyExact;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.List;
import org.verbena.layout.LayoutOptions.Kind;

/**
 * Where each message, row and signal lies in a rank's buffer. An offset is counted in bytes from
 * the start of the buffer and means the same on every rank.
 *
 * <p>The buffer is one or two halves of the same layout; round after round takes the other half.
 * Halves start at multiples of 4096 bytes, regions at multiples of 64. A half holds, for R ranks, T
 * tokens, H values per token and K experts per token:
 *
 * <ul>
 *   <li><b>dispatch receive</b> and <b>dispatch send</b> [R][T], a message per slot: H bf16 values,
 *       then an int32, the source's token index, in {@link #messageBytes()}.
 *   <li><b>dispatch counts</b> [R], a 64-bit signal per peer, each on a 64-byte line of its own.
 *   <li><b>routing receive</b> and <b>routing send</b> [R][T][K], entries of int32 expert id and
 *       float32 weight; a peer's part is rounded up to 64 bytes.
 *   <li><b>combine receive</b> and <b>combine send</b> [R][T], a row per slot: H bf16 values in
 *       {@link #rowBytes()}.
 *   <li><b>combine progress</b> [R], a 64-bit signal per peer, each on a line of its own.
 *   <li><b>combine flags</b> [R][T], an int32 per slot; a peer's part is rounded up to 64 bytes.
 * </ul>
 *
 * All numbers are little-endian. Signals that different peers write never share a 64-byte line. A
 * shared-memory layout has no send regions. In a compact layout combine send lies in the memory of
 * dispatch send: no row may be written there before all dispatch writes of the round are complete.
 *
 * <p>Methods that return an offset check their arguments, so that numbers from a peer never lead
 * outside a region; they allocate nothing. Instances are immutable and safe for use by any thread.
 */
public final class BufferLayout {
  /** The bytes of one routing entry: an int32 expert id, then a float32 weight. */
  public static final int ENTRY_BYTES = 8;

  private static final int LINE = 64;
  private static final int PAGE = 4096;

  private final ExchangeShape shape;
  private final LayoutOptions options;
  private final int ranks;
  private final int tokens;
  private final long messageBytes;
  private final long rowBytes;
  private final long entriesBytes;
  private final long routingStride;
  private final long flagStride;

  private final long dispatchReceive;
  private final long dispatchCounts;
  private final long dispatchSend;
  private final long routingReceive;
  private final long routingSend;
  private final long combineReceive;
  private final long combineProgress;
  private final long combineFlags;
  private final long combineSend;

  private final long halfBytes;
  private final long requiredBytes;
  private final long allocationBytes;
  private final long savedBytes;
  private final long sizeHintBytes;
  private final long deepEpHintBytes;
  private final List<Region> regions;

  /**
   * Lays out a buffer.
   *
   * @throws IllegalArgumentException if a size does not fit in 63 bits
   */
  public BufferLayout(ExchangeShape shape, LayoutOptions options) {
    this.shape = shape;
    this.options = options;
    ranks = shape.ranks();
    tokens = shape.tokens();
    messageBytes = messageBytes(shape);
    rowBytes = rowBytes(shape);
    entriesBytes = (long) ENTRY_BYTES * shape.topk();
    try {
      long slots = multiplyExact((long) ranks, (long) tokens);
      long messages = align(multiplyExact(slots, messageBytes), LINE);
      long rows = align(multiplyExact(slots, rowBytes), LINE);
      long signals = (long) LINE * ranks;
      routingStride = align(multiplyExact(tokens, entriesBytes), LINE);
      flagStride = align(4L * tokens, LINE);
      long entries = multiplyExact(ranks, routingStride);
      long flags = multiplyExact(ranks, flagStride);

      var half = new Half();
      dispatchReceive = half.add("dispatch receive", messages);
      dispatchCounts = half.add("dispatch counts", signals);
      routingReceive = half.add("routing receive", entries);
      combineReceive = half.add("combine receive", rows);
      combineProgress = half.add("combine progress", signals);
      combineFlags = half.add("combine flags", flags);
      long saved = 0;
      if (options.kind() == Kind.SHARED) {
        dispatchSend = -1;
        routingSend = -1;
        combineSend = -1;
      } else {
        dispatchSend = half.add("dispatch send", messages);
        routingSend = half.add("routing send", entries);
        long full = align(addExact(half.end, rows), PAGE);
        if (options.compact()) {
          combineSend = dispatchSend;
          half.share("combine send", combineSend, rows);
          saved = full - align(half.end, PAGE);
        } else {
          combineSend = half.add("combine send", rows);
        }
      }
      halfBytes = align(half.end, PAGE);
      requiredBytes = multiplyExact(options.halves(), halfBytes);
      savedBytes = options.halves() * saved;
      allocationBytes = scale(requiredBytes, options.scale());
      sizeHintBytes = SizeHints.verbena(shape);
      deepEpHintBytes = SizeHints.deepEp(shape);
      regions = half.repeat(options.halves(), halfBytes);
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "the buffer of "
              + shape
              + " with "
              + options
              + " has more than 2^63 - 1 bytes;"
              + " make ranks, tokens, hidden, experts, topk or the scale smaller",
          e);
    }
  }

  /** The shape this layout was made for. */
  public ExchangeShape shape() {
    return shape;
  }

  /** The options this layout was made with. */
  public LayoutOptions options() {
    return options;
  }

  /**
   * The published size formula for this shape: like an RDMA layout of two halves that is not
   * compact, but without routing entries and with signals of 32 bits that are not padded.
   */
  public long sizeHintBytes() {
    return sizeHintBytes;
  }

  /**
   * What DeepEP's {@code get_low_latency_rdma_size_hint} returns for this shape. It reserves a slot
   * per expert, source rank and token, so it grows with the number of experts.
   */
  public long deepEpHintBytes() {
    return deepEpHintBytes;
  }

  /** The bytes of all halves. */
  public long requiredBytes() {
    return requiredBytes;
  }

  /** The bytes to allocate: required bytes times scale, rounded up to a multiple of 4096. */
  public long allocationBytes() {
    return allocationBytes;
  }

  /** The required bytes that this layout saves by being compact; 0 where it is not. */
  public long savedBytes() {
    return savedBytes;
  }

  /** The bytes of one half, a multiple of 4096. */
  public long halfBytes() {
    return halfBytes;
  }

  /** All regions, half by half, in ascending order of offset but for shared ones. */
  public List<Region> regions() {
    return regions;
  }

  /** The bytes of one message with padding, a multiple of 16. */
  public long messageBytes() {
    return messageBytes;
  }

  /** The offset of the int32 token index in a message: after its H values. */
  public long tokenIndexOffset() {
    return 2L * shape.hidden();
  }

  /** The bytes of one row with padding, a multiple of 16. */
  public long rowBytes() {
    return rowBytes;
  }

  /** The bytes of one message's routing entries: K times {@link #ENTRY_BYTES}. */
  public long entriesBytes() {
    return entriesBytes;
  }

  /** The half that a round takes: with two halves, the lowest bit of its epoch. */
  public int half(long epoch) {
    return (int) epoch & (options.halves() - 1);
  }

  /** The offset of the message that {@code peer} sent in {@code slot}. */
  public long dispatchReceive(int half, int peer, int slot) {
    return at(half, dispatchReceive) + slot(peer, slot) * messageBytes;
  }

  /** The offset of the 64-bit word in which {@code peer} signals how many messages it sent. */
  public long dispatchCount(int half, int peer) {
    return at(half, dispatchCounts) + peer(peer) * LINE;
  }

  /**
   * The offset from which a message leaves for {@code peer}.
   *
   * @throws IllegalStateException if this is a shared-memory layout
   */
  public long dispatchSend(int half, int peer, int slot) {
    return at(half, send(dispatchSend)) + slot(peer, slot) * messageBytes;
  }

  /** The offset of the routing entries of the message that {@code peer} sent in {@code slot}. */
  public long routingReceive(int half, int peer, int slot) {
    return at(half, routingReceive) + peer(peer) * routingStride + slot(slot) * entriesBytes;
  }

  /**
   * The offset from which the routing entries of a message leave for {@code peer}.
   *
   * @throws IllegalStateException if this is a shared-memory layout
   */
  public long routingSend(int half, int peer, int slot) {
    return at(half, send(routingSend)) + peer(peer) * routingStride + slot(slot) * entriesBytes;
  }

  /** The offset of the row that {@code peer} returned for {@code slot}. */
  public long combineReceive(int half, int peer, int slot) {
    return at(half, combineReceive) + slot(peer, slot) * rowBytes;
  }

  /** The offset of the 64-bit word in which {@code peer} signals how far its rows have come. */
  public long combineProgress(int half, int peer) {
    return at(half, combineProgress) + peer(peer) * LINE;
  }

  /** The offset of the int32 in which {@code peer} signals the row of {@code slot}. */
  public long combineFlag(int half, int peer, int slot) {
    return at(half, combineFlags) + peer(peer) * flagStride + slot(slot) * 4;
  }

  /**
   * The offset from which a row leaves for {@code peer}.
   *
   * @throws IllegalStateException if this is a shared-memory layout
   */
  public long combineSend(int half, int peer, int slot) {
    return at(half, send(combineSend)) + slot(peer, slot) * rowBytes;
  }

  /** What lies in a range of the buffer, in words: its region, half and slots. */
  public String describe(long offset, long bytes) {
    for (Region region : regions) {
      long within = offset - region.offset();
      if (within >= 0 && within < region.bytes()) {
        String where = "%s of half %d".formatted(region.name(), region.half());
        long last = within + Math.max(bytes, 1) - 1;
        return switch (region.name()) {
          case "dispatch receive" -> where + slots(within / messageBytes, last / messageBytes);
          case "combine receive" -> where + slots(within / rowBytes, last / rowBytes);
          case "routing receive" ->
              where
                  + slots(
                      within % routingStride / entriesBytes, last % routingStride / entriesBytes);
          default -> where;
        };
      }
    }
    return "offset %d".formatted(offset);
  }

  private String slots(long first, long last) {
    return ", slots %d to %d".formatted(first % tokens, last % tokens);
  }

  private long at(int half, long base) {
    check("half", half, options.halves());
    return half * halfBytes + base;
  }

  private long peer(int peer) {
    check("peer", peer, ranks);
    return peer;
  }

  private long slot(int slot) {
    check("slot", slot, tokens);
    return slot;
  }

  private long slot(int peer, int slot) {
    return peer(peer) * tokens + slot(slot);
  }

  static int check(String name, int value, int bound) {
    if (value < 0 || value >= bound) {
      throw outOfBounds(name, value, bound);
    }
    return value;
  }

  private static IndexOutOfBoundsException outOfBounds(String name, int value, int bound) {
    return new IndexOutOfBoundsException(
        name + " must be from 0 to " + (bound - 1) + ", but is " + value);
  }

  private static long send(long base) {
    if (base < 0) {
      throw new IllegalStateException("a shared-memory layout has no send regions");
    }
    return base;
  }

  static long messageBytes(ExchangeShape shape) {
    return align(2L * shape.hidden() + 4, 16);
  }

  static long rowBytes(ExchangeShape shape) {
    return align(2L * shape.hidden(), 16);
  }

  /** Rounds up to a multiple of {@code to}, a power of two. */
  static long align(long bytes, int to) {
    return addExact(bytes, to - 1) & -to;
  }

  private static long scale(long bytes, double scale) {
    long scaled =
        new BigDecimal(scale)
            .multiply(BigDecimal.valueOf(bytes))
            .setScale(0, RoundingMode.CEILING)
            .longValueExact();
    return align(scaled, PAGE);
  }

  /** Places regions one after the other. */
  private static final class Half {
    private final List<Region> regions = new ArrayList<>();
    private long end;

    long add(String name, long bytes) {
      long offset = end;
      end = addExact(end, bytes);
      share(name, offset, bytes);
      return offset;
    }

    void share(String name, long offset, long bytes) {
      regions.add(new Region(name, 0, offset, bytes));
    }

    List<Region> repeat(int halves, long halfBytes) {
      var all = new ArrayList<Region>();
      for (int half = 0; half < halves; half++) {
        for (var region : regions) {
          all.add(
              new Region(region.name(), half, half * halfBytes + region.offset(), region.bytes()));
        }
      }
      return List.copyOf(all);
    }
  }
}
