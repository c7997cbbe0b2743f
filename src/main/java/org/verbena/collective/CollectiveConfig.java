package org.verbena.collective;

import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.verbena.layout.CollectiveShape;
import org.verbena.transport.IdleStrategy;
import org.verbena.transport.Transport;

/**
 * Which moves a group is opened for, and how large. What ranks must agree on is compared then; the
 * timeout and the idle strategy are each rank's own. Immutable.
 */
public final class CollectiveConfig {
  /** Version of what goes over the wire: layout, signals and their meaning. */
  private static final int WIRE_VERSION = 1;

  private static final Duration LONGEST_TIMEOUT = Duration.ofDays(365);

  private final Builder settings;

  private CollectiveConfig(Builder settings) {
    this.settings = new Builder(settings);
  }

  /** Settings of no move yet. */
  public static Builder builder() {
    return new Builder();
  }

  List<Link> links() {
    return settings.links;
  }

  Move linkMove() {
    return settings.linkMove;
  }

  int gatherTarget() {
    return settings.gatherTarget;
  }

  int counters() {
    return settings.counters;
  }

  int chunkSlots() {
    return settings.chunkSlots;
  }

  Duration timeout() {
    return settings.timeout;
  }

  IdleStrategy idleStrategy(Transport transport) {
    IdleStrategy chosen = settings.idleStrategy;
    return chosen == null ? transport.idleStrategy() : chosen;
  }

  /**
   * What the window has to hold.
   *
   * @param direct whether every peer is direct
   * @throws IllegalArgumentException if a rank is named that the group does not have
   */
  CollectiveShape shape(int ranks, boolean direct) {
    int[] incoming = new int[ranks];
    int[] outgoing = new int[ranks];
    int mostIncoming = 0;
    int mostOutgoing = 0;
    for (Link link : links()) {
      checkRank("the source of a link", link.source(), ranks);
      checkRank("the target of a link", link.target(), ranks);
      mostIncoming = Math.max(mostIncoming, ++incoming[link.target()]);
      mostOutgoing = Math.max(mostOutgoing, ++outgoing[link.source()]);
    }
    CollectiveShape.Ring rings =
        links().isEmpty()
            ? CollectiveShape.Ring.NONE
            : new CollectiveShape.Ring(
                mostIncoming,
                mostOutgoing,
                settings.linkSlots,
                settings.messageBytes,
                !direct || linkMove() == Move.READ);
    CollectiveShape.Ring pieces = CollectiveShape.Ring.NONE;
    if (gatherTarget() >= 0) {
      checkRank("the target of the gather", gatherTarget(), ranks);
      pieces =
          new CollectiveShape.Ring(ranks, 1, settings.gatherSlots, settings.pieceBytes, !direct);
    }
    CollectiveShape.Chunks chunks =
        new CollectiveShape.Chunks(settings.chunkSlots, settings.chunkBytes);
    return new CollectiveShape(ranks, counters(), rings, pieces, chunks);
  }

  private static void checkRank(String what, int rank, int ranks) {
    if (rank < 0 || rank >= ranks) {
      throw new IllegalArgumentException(
          "%s is rank %d, but the group has ranks 0 to %d".formatted(what, rank, ranks - 1));
    }
  }

  /** What all ranks must have alike, by the names people know. */
  SequencedMap<String, String> agreement(String transport, long windowBytes) {
    SequencedMap<String, String> fields = new LinkedHashMap<>();
    fields.put("wire version", "" + WIRE_VERSION);
    fields.put("transport", transport);
    fields.put("counters", "" + counters());
    fields.put("links", links().toString());
    fields.put("link move", linkMove().toString());
    fields.put("link slots", "" + settings.linkSlots);
    fields.put("message bytes", "" + settings.messageBytes);
    fields.put("gather target", "" + gatherTarget());
    fields.put("gather slots", "" + settings.gatherSlots);
    fields.put("piece bytes", "" + settings.pieceBytes);
    fields.put("chunk slots", "" + settings.chunkSlots);
    fields.put("chunk bytes", "" + settings.chunkBytes);
    fields.put("window bytes", "" + windowBytes);
    return fields;
  }

  /** Settings under way. Not thread-safe. */
  public static final class Builder {
    private int counters;
    private List<Link> links = List.of();
    private Move linkMove = Move.WRITE;
    private int linkSlots = 1;
    private int messageBytes;
    private int gatherTarget = -1;
    private int gatherSlots = 1;
    private int pieceBytes;
    private int chunkSlots;
    private int chunkBytes;
    private Duration timeout = Duration.ofSeconds(30);
    private @Nullable IdleStrategy idleStrategy;

    private Builder() {}

    private Builder(Builder other) {
      counters = other.counters;
      links = other.links;
      linkMove = other.linkMove;
      linkSlots = other.linkSlots;
      messageBytes = other.messageBytes;
      gatherTarget = other.gatherTarget;
      gatherSlots = other.gatherSlots;
      pieceBytes = other.pieceBytes;
      chunkSlots = other.chunkSlots;
      chunkBytes = other.chunkBytes;
      timeout = other.timeout;
      idleStrategy = other.idleStrategy;
    }

    /** Shared counters of the whole group. */
    public Builder counters(int counters) {
      this.counters = counters;
      return this;
    }

    /**
     * Links for activations. On every rank as many slots are allocated as the rank with the most
     * links needs.
     *
     * @param move which end moves the bytes
     * @param slots messages that may be under way in one link, at least 1
     * @param messageBytes the most bytes of a message
     * @throws IllegalArgumentException if a link is named twice
     */
    public Builder links(List<Link> links, Move move, int slots, int messageBytes) {
      Set<Link> seen = new HashSet<>();
      for (Link link : links) {
        if (!seen.add(link)) {
          throw new IllegalArgumentException("the link " + link + " is named twice");
        }
      }
      this.links = List.copyOf(links);
      linkMove = move;
      linkSlots = slots;
      this.messageBytes = messageBytes;
      return this;
    }

    /**
     * Gathers of results.
     *
     * @param target the rank that gets the pieces
     * @param slots gathers by which a rank may be ahead of the target, at least 1
     * @param pieceBytes the most bytes of one rank's piece
     */
    public Builder gather(int target, int slots, int pieceBytes) {
      gatherTarget = target;
      gatherSlots = slots;
      this.pieceBytes = pieceBytes;
      return this;
    }

    /**
     * Syncs of parameters.
     *
     * @param slots chunks that may be under way to a rank; two keep a chain moving
     * @param chunkBytes bytes that are sent, checked and, if need be, sent again as one; at least
     *     64
     */
    public Builder sync(int slots, int chunkBytes) {
      chunkSlots = slots;
      this.chunkBytes = chunkBytes;
      return this;
    }

    /** How long to wait for a peer before it is given up; 30 s unless set. */
    public Builder timeout(Duration timeout) {
      if (!timeout.isPositive() || timeout.compareTo(LONGEST_TIMEOUT) > 0) {
        throw new IllegalArgumentException(
            "a timeout is longer than zero and at most %s, got %s"
                .formatted(LONGEST_TIMEOUT, timeout));
      }
      this.timeout = timeout;
      return this;
    }

    /** What to do between two looks at a signal; what suits the transport unless set. */
    public Builder idleStrategy(IdleStrategy idleStrategy) {
      this.idleStrategy = idleStrategy;
      return this;
    }

    /** The finished settings; {@link Collective#open} checks them against the group. */
    public CollectiveConfig build() {
      return new CollectiveConfig(this);
    }
  }
}
