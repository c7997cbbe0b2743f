package org.verbena.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.tuple;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.layout.LayoutOptions.Kind;

class BufferLayoutTest {
  private static final ExchangeShape SHAPE = new ExchangeShape(8, 128, 7168, 288, 8);
  private static final LayoutOptions RDMA = LayoutOptions.of(Kind.RDMA);
  private static final LayoutOptions SHARED = LayoutOptions.of(Kind.SHARED);

  @Test
  void givesThePublishedHints() {
    var layout = new BufferLayout(SHAPE, RDMA);
    assertThat(layout.sizeHintBytes()).isEqualTo(117_522_432);
    assertThat(layout.deepEpHintBytes()).isEqualTo(2_146_961_792);
  }

  @Test
  void hintsDoNotDependOnTheOptions() {
    var layout = new BufferLayout(SHAPE, SHARED.withHalves(1).withCompact(true).withScale(2.0));
    assertThat(layout.sizeHintBytes()).isEqualTo(117_522_432);
    assertThat(layout.deepEpHintBytes()).isEqualTo(2_146_961_792);
  }

  @Test
  void requiresLittleMoreThanTheHint() {
    var layout = new BufferLayout(SHAPE, RDMA);
    assertThat(layout.requiredBytes()).isBetween(117_522_432L, 117_522_432L / 100 * 103);
    assertThat(layout.requiredBytes()).isEqualTo(2 * layout.halfBytes());
    assertThat(layout.allocationBytes()).isEqualTo(layout.requiredBytes());
  }

  @Test
  void placesTheRegionsOneAfterTheOther() {
    assertThat(new BufferLayout(SHAPE, RDMA.withHalves(1)).regions())
        .extracting(Region::name, Region::half, Region::offset, Region::bytes)
        .containsExactly(
            tuple("dispatch receive", 0, 0L, 14_696_448L),
            tuple("dispatch counts", 0, 14_696_448L, 512L),
            tuple("routing receive", 0, 14_696_960L, 65_536L),
            tuple("combine receive", 0, 14_762_496L, 14_680_064L),
            tuple("combine progress", 0, 29_442_560L, 512L),
            tuple("combine flags", 0, 29_443_072L, 4_096L),
            tuple("dispatch send", 0, 29_447_168L, 14_696_448L),
            tuple("routing send", 0, 44_143_616L, 65_536L),
            tuple("combine send", 0, 44_209_152L, 14_680_064L));
  }

  @Test
  void oneHalfTakesHalfTheMemory() {
    assertThat(2 * new BufferLayout(SHAPE, RDMA.withHalves(1)).requiredBytes())
        .isEqualTo(new BufferLayout(SHAPE, RDMA).requiredBytes());
  }

  @Test
  void compactSharesTheSendMemoryAndSaysWhatItSaved() {
    var full = new BufferLayout(SHAPE, RDMA);
    var compact = new BufferLayout(SHAPE, RDMA.withCompact(true));
    assertThat(full.savedBytes()).isZero();
    assertThat(compact.savedBytes())
        .isEqualTo(full.requiredBytes() - compact.requiredBytes())
        .isEqualTo(2 * 14_680_064L);
    assertThat(compact.combineSend(1, 0, 0)).isEqualTo(compact.dispatchSend(1, 0, 0));
  }

  @Test
  void sharedMemoryHasNoSendRegions() {
    var layout = new BufferLayout(SHAPE, SHARED.withCompact(true));
    assertThat(layout.regions()).extracting(Region::name).noneMatch(name -> name.endsWith("send"));
    assertThat(layout.savedBytes()).isZero();
    assertThatIllegalStateException().isThrownBy(() -> layout.dispatchSend(0, 0, 0));
    assertThatIllegalStateException().isThrownBy(() -> layout.routingSend(0, 0, 0));
    assertThatIllegalStateException().isThrownBy(() -> layout.combineSend(0, 0, 0));
  }

  @Test
  void scaleEnlargesTheAllocationAlone() {
    var layout = new BufferLayout(SHAPE, RDMA);
    var scaled = new BufferLayout(SHAPE, RDMA.withScale(1.5));
    assertThat(scaled.requiredBytes()).isEqualTo(layout.requiredBytes());
    assertThat(scaled.allocationBytes())
        .isEqualTo((layout.requiredBytes() * 3 / 2 + 4095) / 4096 * 4096);
    assertThat(scaled.regions()).isEqualTo(layout.regions());
  }

  @Test
  void scaleKeepsEveryByteOfALargeBuffer() {
    var shape = new ExchangeShape(1 << 15, 1 << 15, 1 << 23, 1, 1);
    var layout = new BufferLayout(shape, RDMA.withScale(1.0));
    assertThat(layout.requiredBytes()).isGreaterThan(1L << 53);
    assertThat(layout.allocationBytes()).isEqualTo(layout.requiredBytes());
  }

  @Test
  void refusesWhatDoesNotFitInALong() {
    int max = Integer.MAX_VALUE;
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new BufferLayout(new ExchangeShape(max, max, 8, 1, 1), RDMA))
        .withMessageContainingAll("ranks=" + max, "tokens=" + max, "more than 2^63 - 1 bytes");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new BufferLayout(SHAPE, RDMA.withScale(1e12)))
        .withMessageContainingAll("scale=1.0E12", "more than 2^63 - 1 bytes");
  }

  @Test
  void aRoundTakesTheHalfOfItsEpoch() {
    var two = new BufferLayout(SHAPE, RDMA);
    var one = new BufferLayout(SHAPE, RDMA.withHalves(1));
    for (long epoch : new long[] {1, 2, (1L << 31) - 1, 1L << 31, (1L << 32) - 1, 1L << 32}) {
      assertThat(two.half(epoch)).isEqualTo((int) (epoch % 2));
      assertThat(one.half(epoch)).isZero();
    }
  }

  /** Sixteen bits hold 65,536 numbers: here more slots and more experts than that have theirs. */
  @ParameterizedTest
  @ValueSource(ints = {65_535, 65_536, 65_537})
  void slotsAreNotCountedInSixteenBits(int tokens) {
    var layout = new BufferLayout(new ExchangeShape(3, tokens, 8, tokens, 1), RDMA);
    int last = tokens - 1;
    long messages = layout.messageBytes() * tokens;
    assertThat(layout.dispatchReceive(1, 2, last) - layout.dispatchReceive(1, 0, 0))
        .isEqualTo(3 * messages - layout.messageBytes());
    assertThat(layout.combineReceive(1, 2, last) - layout.combineReceive(1, 2, 0))
        .isEqualTo(last * layout.rowBytes());
    assertThat(layout.routingReceive(1, 2, last) - layout.routingReceive(1, 2, 0))
        .isEqualTo(last * layout.entriesBytes());
    assertThat(layout.combineFlag(1, 2, last) - layout.combineFlag(1, 2, 0)).isEqualTo(4L * last);
    refuses("slot", tokens, () -> layout.dispatchReceive(1, 2, tokens));
  }

  @Test
  void everySignalIsAlignedForAcquireAndRelease() {
    var layout = new BufferLayout(SHAPE, SHARED);
    VarHandle longs = ValueLayout.JAVA_LONG.varHandle();
    VarHandle ints = ValueLayout.JAVA_INT.varHandle();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment window = arena.allocate(layout.requiredBytes(), 4096);
      for (int half = 0; half < 2; half++) {
        for (int peer = 0; peer < SHAPE.ranks(); peer++) {
          assertThat((long) longs.getAcquire(window, layout.dispatchCount(half, peer))).isZero();
          assertThat((long) longs.getAcquire(window, layout.combineProgress(half, peer))).isZero();
          for (int slot = 0; slot < SHAPE.tokens(); slot++) {
            assertThat((int) ints.getAcquire(window, layout.combineFlag(half, peer, slot)))
                .isZero();
          }
        }
      }
      MemorySegment crooked = window.asSlice(4);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> longs.setRelease(crooked, layout.dispatchCount(0, 0), 1L));
    }
  }

  @Test
  void offsetsNeverLeaveTheirRegion() {
    var layout = new BufferLayout(SHAPE, RDMA);
    for (int wrong : new int[] {-1, 8, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
      refuses("peer", wrong, () -> layout.dispatchReceive(0, wrong, 0));
      refuses("peer", wrong, () -> layout.dispatchCount(0, wrong));
      refuses("peer", wrong, () -> layout.dispatchSend(0, wrong, 0));
      refuses("peer", wrong, () -> layout.routingReceive(0, wrong, 0));
      refuses("peer", wrong, () -> layout.routingSend(0, wrong, 0));
      refuses("peer", wrong, () -> layout.combineReceive(0, wrong, 0));
      refuses("peer", wrong, () -> layout.combineProgress(0, wrong));
      refuses("peer", wrong, () -> layout.combineFlag(0, wrong, 0));
      refuses("peer", wrong, () -> layout.combineSend(0, wrong, 0));
    }
    for (int wrong : new int[] {-1, 128, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
      refuses("slot", wrong, () -> layout.dispatchReceive(0, 0, wrong));
      refuses("slot", wrong, () -> layout.dispatchSend(0, 0, wrong));
      refuses("slot", wrong, () -> layout.routingReceive(0, 0, wrong));
      refuses("slot", wrong, () -> layout.routingSend(0, 0, wrong));
      refuses("slot", wrong, () -> layout.combineReceive(0, 0, wrong));
      refuses("slot", wrong, () -> layout.combineFlag(0, 0, wrong));
      refuses("slot", wrong, () -> layout.combineSend(0, 0, wrong));
    }
    refuses("half", 2, () -> layout.dispatchCount(2, 0));
    refuses("half", -1, () -> layout.combineProgress(-1, 0));
  }

  private static void refuses(String name, int value, Runnable call) {
    assertThatExceptionOfType(IndexOutOfBoundsException.class)
        .isThrownBy(call::run)
        .withMessageStartingWith(name + " must be from 0 to ")
        .withMessageEndingWith("but is " + value);
  }

  /** Every byte that an accessor may lead to, drawn on a map: no two things overlap. */
  @Test
  void everySlotHasItsOwnBytes() {
    var random = random();
    for (int i = 0; i < 50; i++) {
      var shape = smallShape(random);
      var options =
          LayoutOptions.of(random.nextBoolean() ? Kind.RDMA : Kind.SHARED)
              .withHalves(1 + random.nextInt(2))
              .withCompact(random.nextBoolean());
      var layout = new BufferLayout(shape, options);
      var map = new String[Math.toIntExact(layout.requiredBytes())];
      for (int half = 0; half < options.halves(); half++) {
        for (int peer = 0; peer < shape.ranks(); peer++) {
          draw(map, "dispatch counts", half, layout.dispatchCount(half, peer), 64);
          draw(map, "combine progress", half, layout.combineProgress(half, peer), 64);
          int flagLine = (4 * shape.tokens() + 63) / 64 * 64;
          draw(map, "combine flags", half, layout.combineFlag(half, peer, 0), flagLine);
          for (int slot = 0; slot < shape.tokens(); slot++) {
            long message = 2L * shape.hidden() + 4;
            long row = 2L * shape.hidden();
            long entries = 8L * shape.topk();
            assertThat(layout.combineFlag(half, peer, slot))
                .isEqualTo(layout.combineFlag(half, peer, 0) + 4L * slot);
            draw(map, "dispatch receive", half, layout.dispatchReceive(half, peer, slot), message);
            draw(map, "routing receive", half, layout.routingReceive(half, peer, slot), entries);
            draw(map, "combine receive", half, layout.combineReceive(half, peer, slot), row);
            if (options.kind() == Kind.RDMA) {
              draw(map, "dispatch send", half, layout.dispatchSend(half, peer, slot), message);
              draw(map, "routing send", half, layout.routingSend(half, peer, slot), entries);
              if (!options.compact()) {
                draw(map, "combine send", half, layout.combineSend(half, peer, slot), row);
              }
            }
          }
        }
      }
      for (var region : layout.regions()) {
        if (options.compact() && region.name().equals("combine send")) {
          continue;
        }
        // What was drawn for a region lies in it: nothing outside bears its name.
        for (int at = 0; at < map.length; at++) {
          if ((region.name() + region.half()).equals(map[at])) {
            assertThat((long) at).isBetween(region.offset(), region.offset() + region.bytes() - 1);
          }
        }
      }
    }
  }

  private static void draw(String[] map, String name, int half, long offset, long bytes) {
    assertThat(offset % (name.startsWith("routing") ? 8 : 16)).isZero();
    String owner = name + half;
    for (int at = Math.toIntExact(offset); at < offset + bytes; at++) {
      if (map[at] != null) {
        throw new AssertionError("byte " + at + " of " + name + " belongs to " + map[at]);
      }
      map[at] = owner;
    }
  }

  /** The same arithmetic without bounds: equal where it fits in a long, else refused. */
  @Test
  void agreesWithUnboundedArithmetic() {
    var random = random();
    int refused = 0;
    int taken = 0;
    for (int i = 0; i < 20_000; i++) {
      var shape = anyShape(random);
      int halves = 1 + random.nextInt(2);
      boolean compact = random.nextBoolean();
      var kind = random.nextBoolean() ? Kind.RDMA : Kind.SHARED;
      var options = new LayoutOptions(kind, halves, compact, 1);
      var required = required(shape, kind, halves, compact);
      var hint = hint(shape);
      var deepEp = deepEpHint(shape);
      var largest = required.max(hint).max(deepEp);
      if (largest.bitLength() < 63) {
        var layout = new BufferLayout(shape, options);
        assertThat(layout.requiredBytes()).as("%s", shape).isEqualTo(required.longValueExact());
        assertThat(layout.sizeHintBytes()).isEqualTo(hint.longValueExact());
        assertThat(layout.deepEpHintBytes()).isEqualTo(deepEp.longValueExact());
        assertThat(layout.savedBytes())
            .isEqualTo(required(shape, kind, halves, false).subtract(required).longValueExact());
        taken++;
      } else if (largest.bitLength() > 63) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> new BufferLayout(shape, options))
            .withMessageContaining("2^63 - 1");
        refused++;
      }
    }
    assertThat(taken).isGreaterThan(1000);
    assertThat(refused).isGreaterThan(1000);
  }

  @Test
  void regionsFillEachHalf() {
    var random = random();
    for (int i = 0; i < 1000; i++) {
      var layout = new BufferLayout(smallShape(random), RDMA);
      for (int half = 0; half < 2; half++) {
        long end = half * layout.halfBytes();
        var regions = new ArrayList<Region>();
        for (var region : layout.regions()) {
          if (region.half() == half) {
            regions.add(region);
          }
        }
        assertThat(regions).isSortedAccordingTo(Comparator.comparingLong(Region::offset));
        for (var region : regions) {
          assertThat(region.offset()).isEqualTo(end);
          end += region.bytes();
        }
        assertThat((half + 1) * layout.halfBytes() - end).isBetween(0L, 4095L);
      }
    }
  }

  private static BigInteger required(ExchangeShape shape, Kind kind, int halves, boolean compact) {
    var slots = big(shape.ranks()).multiply(big(shape.tokens()));
    Map<String, BigInteger> parts = new LinkedHashMap<>();
    parts.put("messages", up(slots.multiply(up(big(2L * shape.hidden() + 4), 16)), 64));
    parts.put("rows", up(slots.multiply(up(big(2L * shape.hidden()), 16)), 64));
    parts.put("counts", big(64L * shape.ranks()));
    parts.put("progress", big(64L * shape.ranks()));
    parts.put("flags", big(shape.ranks()).multiply(up(big(4L * shape.tokens()), 64)));
    var entries =
        big(shape.ranks()).multiply(up(big(8L * shape.topk()).multiply(big(shape.tokens())), 64));
    parts.put("entries", entries);
    if (kind == Kind.RDMA) {
      parts.put("messages sent", parts.get("messages"));
      parts.put("entries sent", entries);
      if (!compact) {
        parts.put("rows sent", parts.get("rows"));
      }
    }
    var half = parts.values().stream().reduce(BigInteger.ZERO, BigInteger::add);
    return up(half, 4096).multiply(big(halves));
  }

  private static BigInteger hint(ExchangeShape shape) {
    var slots = big(shape.ranks()).multiply(big(shape.tokens()));
    var message = up(big(2L * shape.hidden() + 4), 16);
    var row = up(big(2L * shape.hidden()), 16);
    var half =
        Stream.of(
                slots.multiply(message).multiply(big(2)),
                slots.multiply(row).multiply(big(2)),
                slots.multiply(big(4)),
                big(4L * shape.ranks()))
            .reduce(BigInteger.ZERO, BigInteger::add);
    return up(half, 4096).multiply(big(2));
  }

  private static BigInteger deepEpHint(ExchangeShape shape) {
    long hidden = shape.hidden();
    var dispatch = big(16 + Math.max(2 * hidden, hidden + 4 * (hidden / 128)));
    var combine = big(4 * (hidden / 128) + 2 * hidden);
    var tokens = big(shape.tokens());
    var experts = big(shape.experts());
    var send = tokens.multiply(dispatch).max(experts.multiply(tokens).multiply(combine));
    var receive = experts.multiply(tokens).multiply(dispatch.max(combine));
    var total = send.add(receive).add(up(big(4L * shape.experts()), 128)).multiply(big(2));
    return total.add(big(128)).divide(big(128)).multiply(big(128));
  }

  private static BigInteger up(BigInteger value, long multiple) {
    return value.add(big(multiple - 1)).divide(big(multiple)).multiply(big(multiple));
  }

  private static BigInteger big(long value) {
    return BigInteger.valueOf(value);
  }

  private static ExchangeShape smallShape(Random random) {
    int experts = 1 + random.nextInt(20);
    return new ExchangeShape(
        1 + random.nextInt(5),
        1 + random.nextInt(20),
        8 * (1 + random.nextInt(8)),
        experts,
        1 + random.nextInt(experts));
  }

  private static ExchangeShape anyShape(Random random) {
    int experts = size(random);
    return new ExchangeShape(
        size(random),
        size(random),
        Math.max(1, size(random) / 8) * 8,
        experts,
        1 + random.nextInt(Math.min(experts, 64)));
  }

  /** A positive number, each of its lengths in bits as likely. */
  private static int size(Random random) {
    return Math.max(1, random.nextInt() >>> (1 + random.nextInt(31)));
  }

  private static Random random() {
    long seed = Long.getLong("verbena.seed", System.nanoTime());
    System.out.println("BufferLayoutTest: -Dverbena.seed=" + seed);
    return new Random(seed);
  }
}
