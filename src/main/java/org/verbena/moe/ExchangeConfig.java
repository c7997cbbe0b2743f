package org.verbena.moe;

import java.math.BigInteger;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;
import org.verbena.layout.BufferLayout;
import org.verbena.layout.ExchangeShape;
import org.verbena.layout.LayoutOptions;
import org.verbena.transport.IdleStrategy;
import org.verbena.transport.Transport;

/**
 * How an exchange is set up. What ranks must agree on is compared when it is opened; the timeout,
 * the idle strategy and the guarding of views are each rank's own. Immutable.
 */
public final class ExchangeConfig {
  /** In which order the rows of one source come back, and how they are signalled. */
  public enum CombineOrder {
    /** In slot order: one word per peer tells how many rows are there. */
    IN_ORDER,
    /** As experts finish: a flag per row tells that it is there. */
    ANY_ORDER
  }

  /** Version of what goes over the wire: layout, signals and their meaning. */
  private static final int WIRE_VERSION = 1;

  private static final Duration LONGEST_TIMEOUT = Duration.ofDays(365);

  private final Builder settings;
  private final ExpertPlacement placement;

  private ExchangeConfig(Builder settings) {
    this.settings = new Builder(settings);
    LayoutOptions _ = layoutOptions(LayoutOptions.Kind.RDMA);
    ExchangeShape shape = settings.shape;
    placement =
        settings.placement == null
            ? ExpertPlacement.contiguous(shape.experts(), shape.ranks())
            : settings.placement;
    if (placement.experts() != shape.experts() || placement.ranks() != shape.ranks()) {
      throw new IllegalArgumentException(
          "the placement is of %d experts on %d ranks, the exchange has %d experts and %d ranks"
              .formatted(placement.experts(), placement.ranks(), shape.experts(), shape.ranks()));
    }
    BigInteger entries =
        BigInteger.valueOf(shape.ranks())
            .multiply(BigInteger.valueOf(shape.tokens()))
            .multiply(BigInteger.valueOf(Math.max(shape.topk(), shape.ranks())));
    if (entries.bitLength() >= Integer.SIZE) {
      throw new IllegalArgumentException(
          "%d ranks, %d tokens and top-k %d make %s entries in a round, at most %d can be indexed"
              .formatted(shape.ranks(), shape.tokens(), shape.topk(), entries, Integer.MAX_VALUE));
    }
  }

  /** Settings for this shape, with defaults for all else. */
  public static Builder builder(ExchangeShape shape) {
    return new Builder(shape);
  }

  /** The shape. */
  public ExchangeShape shape() {
    return settings.shape;
  }

  /** Which rank owns which expert. */
  public ExpertPlacement placement() {
    return placement;
  }

  /** How many rounds may be in flight. */
  public int halves() {
    return settings.halves;
  }

  /** Whether send regions share memory. */
  public boolean compact() {
    return settings.compact;
  }

  /** How much larger than required the buffer is. */
  public double scale() {
    return settings.scale;
  }

  /** In which order rows come back. */
  public CombineOrder combineOrder() {
    return settings.combineOrder;
  }

  /** Bytes of rows after which a receiver is told of them. */
  public long chunkBytes() {
    return settings.chunkBytes;
  }

  /** How long to wait for a peer. */
  public Duration timeout() {
    return settings.timeout;
  }

  /** Whether segments of rows are taken back after their round. */
  public boolean guardedViews() {
    return settings.guardedViews;
  }

  LayoutOptions layoutOptions(LayoutOptions.Kind kind) {
    return new LayoutOptions(kind, halves(), compact(), scale());
  }

  IdleStrategy idleStrategy(Transport transport) {
    IdleStrategy chosen = settings.idleStrategy;
    return chosen == null ? transport.idleStrategy() : chosen;
  }

  long firstEpoch() {
    return settings.firstEpoch;
  }

  /** What all ranks must have alike, by the names people know. */
  SequencedMap<String, String> agreement(BufferLayout layout, String transport) {
    ExchangeShape shape = shape();
    SequencedMap<String, String> fields = new LinkedHashMap<>();
    fields.put("wire version", "" + WIRE_VERSION);
    fields.put("transport", transport);
    fields.put("ranks", "" + shape.ranks());
    fields.put("tokens", "" + shape.tokens());
    fields.put("hidden", "" + shape.hidden());
    fields.put("experts", "" + shape.experts());
    fields.put("topk", "" + shape.topk());
    fields.put("data type", "bf16");
    fields.put("placement", placement.toString());
    fields.put("halves", "" + halves());
    fields.put("compact", "" + compact());
    fields.put("buffer bytes", "" + layout.allocationBytes());
    fields.put("combine order", combineOrder().toString());
    fields.put("first epoch", "" + firstEpoch());
    return fields;
  }

  /** Settings under way. Not thread-safe. */
  public static final class Builder {
    private final ExchangeShape shape;
    private @Nullable ExpertPlacement placement;
    private int halves = 2;
    private boolean compact;
    private double scale =
        LayoutOptions.of(LayoutOptions.Kind.RDMA).withScaleFrom(System.getenv()).scale();
    private CombineOrder combineOrder = CombineOrder.IN_ORDER;
    private long chunkBytes = 256 << 10;
    private Duration timeout = Duration.ofSeconds(30);
    private @Nullable IdleStrategy idleStrategy;
    private boolean guardedViews = true;
    private long firstEpoch = 1;

    private Builder(ExchangeShape shape) {
      this.shape = shape;
    }

    private Builder(Builder other) {
      this.shape = other.shape;
      this.placement = other.placement;
      this.halves = other.halves;
      this.compact = other.compact;
      this.scale = other.scale;
      this.combineOrder = other.combineOrder;
      this.chunkBytes = other.chunkBytes;
      this.timeout = other.timeout;
      this.idleStrategy = other.idleStrategy;
      this.guardedViews = other.guardedViews;
      this.firstEpoch = other.firstEpoch;
    }

    /** Which rank owns which expert; contiguous blocks unless set. */
    public Builder placement(ExpertPlacement placement) {
      this.placement = placement;
      return this;
    }

    /** 2 for two rounds in flight, the default, or 1 for one round at a time in half the memory. */
    public Builder halves(int halves) {
      this.halves = halves;
      return this;
    }

    /** Lets send regions share memory, at the price of waiting for the network between phases. */
    public Builder compact(boolean compact) {
      this.compact = compact;
      return this;
    }

    /**
     * Enlarges the allocated buffer, at least 1; {@value LayoutOptions#SCALE_VARIABLE} unless set.
     */
    public Builder scale(double scale) {
      this.scale = scale;
      return this;
    }

    /** In which order rows come back; in slot order unless set. */
    public Builder combineOrder(CombineOrder combineOrder) {
      this.combineOrder = combineOrder;
      return this;
    }

    /**
     * Bytes of rows after which a receiver is told of them, so that it can begin early; 256 KiB
     * unless set. At least one row is always in a chunk.
     */
    public Builder chunkBytes(long chunkBytes) {
      if (chunkBytes < 1) {
        throw new IllegalArgumentException("a chunk has at least 1 byte, got " + chunkBytes);
      }
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

    /** What to do between two looks at a signal; unless set, what suits the transport. */
    public Builder idleStrategy(IdleStrategy idleStrategy) {
      this.idleStrategy = idleStrategy;
      return this;
    }

    /**
     * Whether segments of rows are taken back after their round, so that late use throws. On unless
     * set. It costs an object per round and segment, and a moment in which all threads of the JVM
     * meet; and it needs {@code --enable-native-access=org.verbena}, without which it is off.
     */
    public Builder guardedViews(boolean guardedViews) {
      this.guardedViews = guardedViews;
      return this;
    }

    /** The epoch of the first round, for tests of what happens after very many. */
    Builder firstEpoch(long firstEpoch) {
      this.firstEpoch = firstEpoch;
      return this;
    }

    /**
     * The finished settings.
     *
     * @throws IllegalArgumentException if the placement does not fit the shape, or a number breaks
     *     its rule
     */
    public ExchangeConfig build() {
      return new ExchangeConfig(this);
    }
  }
}
