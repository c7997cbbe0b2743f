package org.verbena.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.verbena.layout.CollectiveShape.Chunks;
import org.verbena.layout.CollectiveShape.Ring;

class CollectiveLayoutTest {
  /** What one writer writes at one place. */
  private record Place(String what, long offset, long bytes, String writer) {}

  private static List<Place> ring(String name, RingLayout layout) {
    List<Place> places = new ArrayList<>();
    Ring shape = layout.shape();
    for (int slot = 0; slot < shape.slots(); slot++) {
      for (int in = 0; in < shape.incoming(); in++) {
        String writer = name + " sender " + in;
        places.add(new Place("receive", layout.receive(in, slot), shape.bytes(), writer));
        places.add(new Place("ready", layout.ready(in, slot), 8, writer));
      }
      for (int out = 0; shape.sendSlots() && out < shape.outgoing(); out++) {
        places.add(new Place("send", layout.send(out, slot), shape.bytes(), "own"));
      }
    }
    for (int out = 0; out < shape.outgoing(); out++) {
      places.add(new Place("credit", layout.credit(out), 8, name + " receiver " + out));
    }
    return places;
  }

  private static List<Place> places(CollectiveLayout layout) {
    List<Place> places = new ArrayList<>();
    for (int counter = 0; counter < layout.shape().counters(); counter++) {
      if (layout.counterRank(counter) == 0) {
        places.add(new Place("counter", layout.counter(counter), 8, "network " + counter));
      }
    }
    places.add(new Place("counter result", layout.counterResult(), 8, "network"));
    places.addAll(ring("link", layout.links()));
    places.addAll(ring("piece", layout.pieces()));
    ChunkLayout chunks = layout.chunks();
    int slots = chunks.shape().slots();
    for (int slot = 0; slot < slots; slot++) {
      long bytes = (long) ChunkLayout.HEADER_BYTES + chunks.shape().bytes();
      places.add(new Place("chunk", chunks.slot(slot), bytes, "parent"));
    }
    for (int peer = 0; slots > 0 && peer < layout.shape().ranks(); peer++) {
      String writer = "peer " + peer;
      for (int slot = 0; slot < slots; slot++) {
        places.add(new Place("chunk ready", chunks.ready(peer, slot), 8, writer));
        places.add(new Place("chunk request", chunks.request(peer, slot), 8, writer));
      }
      places.add(new Place("accepted", chunks.accepted(peer), 8, writer));
      places.add(new Place("status", chunks.status(peer), 8, writer));
      places.add(new Place("reason", chunks.reason(peer), ChunkLayout.REASON_BYTES, writer));
    }
    if (slots > 0) {
      places.add(new Place("reason", chunks.ownReason(), ChunkLayout.REASON_BYTES, "own"));
    }
    return places;
  }

  @ParameterizedTest
  @CsvSource({
    "1, 0, 0, 1, 0, 0",
    "1, 3, 1, 1, 7, 64",
    "3, 10, 2, 9, 1000, 1000",
    "5, 4, 3, 2, 0, 65"
  })
  void nothingOverlapsAndNoLineHasTwoWriters(
      int ranks, int counters, int links, int slots, int bytes, int chunkBytes) {
    Ring ring = links == 0 ? Ring.NONE : new Ring(links, 2, slots, bytes, true);
    Ring pieces = new Ring(ranks, 1, slots, bytes, false);
    Chunks chunks = chunkBytes == 0 ? Chunks.NONE : new Chunks(slots, chunkBytes);
    CollectiveLayout layout =
        new CollectiveLayout(new CollectiveShape(ranks, counters, ring, pieces, chunks));

    NavigableMap<Long, Place> byOffset = new TreeMap<>();
    for (Place place : places(layout)) {
      assertThat(place.offset() % 8).as(place.toString()).isZero();
      assertThat(place.offset() + place.bytes()).isLessThanOrEqualTo(layout.bytes());
      if (place.bytes() > 0) {
        assertThat(byOffset.put(place.offset(), place)).as(place.toString()).isNull();
      }
    }
    Place before = new Place("start", 0, 0, "");
    for (Place place : byOffset.values()) {
      long end = before.offset() + before.bytes();
      assertThat(end).as("%s before %s", before, place).isLessThanOrEqualTo(place.offset());
      if (!before.writer().equals(place.writer())) {
        assertThat(Math.floorDiv(end - 1, 64))
            .as("%s and %s", before, place)
            .isLessThan(place.offset() / 64);
      }
      before = place;
    }
  }

  @Test
  void regionsFollowOneAnother() {
    CollectiveShape shape =
        new CollectiveShape(
            3, 4, new Ring(1, 1, 2, 100, true), new Ring(3, 1, 1, 50, false), new Chunks(2, 64));
    CollectiveLayout layout = new CollectiveLayout(shape);
    long end = 0;
    for (Region region : layout.regions()) {
      assertThat(region.offset()).as(region.name()).isEqualTo(end);
      assertThat(region.bytes() % 64).isZero();
      end += region.bytes();
    }
    assertThat(layout.bytes()).isEqualTo((end + 4095) / 4096 * 4096);
    assertThat(layout.regions())
        .extracting(Region::name)
        .contains("counters", "link send", "piece credit", "sync reason")
        .doesNotContain("piece send");
  }

  @Test
  void countersAreSpreadOverTheRanks() {
    CollectiveLayout layout =
        new CollectiveLayout(new CollectiveShape(3, 7, Ring.NONE, Ring.NONE, Chunks.NONE));
    assertThat(layout.counterRank(5)).isEqualTo(2);
    assertThat(layout.counter(5) - layout.counter(2)).isEqualTo(64);
    assertThatThrownBy(() -> layout.counter(7)).isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void whatCannotBeIsRefused() {
    assertThatThrownBy(() -> new CollectiveShape(0, 0, Ring.NONE, Ring.NONE, Chunks.NONE))
        .hasMessageContaining("ranks must be at least 1, but is 0");
    assertThatThrownBy(() -> new Ring(1, 1, 0, 1, false)).hasMessageContaining("slots of a ring");
    assertThatThrownBy(() -> new Chunks(1, 63)).hasMessageContaining("bytes of a chunk");
    assertThatThrownBy(() -> new Chunks(1, (1 << 30) + 1))
        .hasMessageContaining("at most 1073741824");
    Ring huge = new Ring(Integer.MAX_VALUE, 1, Integer.MAX_VALUE, Integer.MAX_VALUE, false);
    assertThatThrownBy(
            () -> new CollectiveLayout(new CollectiveShape(1, 0, huge, Ring.NONE, Chunks.NONE)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("2^63");
    CollectiveLayout layout =
        new CollectiveLayout(
            new CollectiveShape(1, 0, new Ring(1, 1, 2, 8, false), Ring.NONE, new Chunks(2, 64)));
    assertThatThrownBy(() -> layout.links().receive(1, 0))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> layout.links().send(0, 0)).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> layout.chunks().slot(2)).isInstanceOf(IndexOutOfBoundsException.class);
  }
}
