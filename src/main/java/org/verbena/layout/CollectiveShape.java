package org.verbena.layout;

/**
 * What the window of the collective moves has to hold; the same on all ranks.
 *
 * @param ranks ranks of the group, at least 1
 * @param counters shared counters of the whole group, 0 for none
 * @param links the rings of activation exchange
 * @param pieces the rings of result gather
 * @param chunks the chunks of parameter sync
 */
public record CollectiveShape(int ranks, int counters, Ring links, Ring pieces, Chunks chunks) {
  /**
   * Checks the numbers.
   *
   * @throws IllegalArgumentException naming the number and the rule it breaks
   */
  public CollectiveShape {
    atLeast("ranks", ranks, 1);
    atLeast("counters", counters, 0);
  }

  private static void atLeast(String name, int value, int least) {
    if (value < least) {
      throw new IllegalArgumentException(name + " must be at least " + least + ", but is " + value);
    }
  }

  /**
   * Rings of slots, in each of which messages travel from one rank to another.
   *
   * @param incoming the most rings that end at one rank, 0 if there are none at all
   * @param outgoing the most rings that begin at one rank
   * @param slots messages that a ring holds
   * @param bytes the most bytes of a message
   * @param sendSlots whether messages are put into the sender's window first, because a network
   *     takes them from there or their receiver reads them
   */
  public record Ring(int incoming, int outgoing, int slots, int bytes, boolean sendSlots) {
    /** No rings. */
    public static final Ring NONE = new Ring(0, 0, 1, 0, false);

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException naming the number and the rule it breaks
     */
    public Ring {
      atLeast("incoming rings", incoming, 0);
      atLeast("outgoing rings", outgoing, 0);
      atLeast("slots of a ring", slots, 1);
      atLeast("bytes of a message", bytes, 0);
    }
  }

  /**
   * Slots in which the chunks of a parameter sync pass through a rank.
   *
   * @param slots how many, 0 if there is no parameter sync
   * @param bytes the most bytes of parameters in one
   */
  public record Chunks(int slots, int bytes) {
    /** The most bytes of a chunk, 1 GiB. */
    public static final int MOST_BYTES = 1 << 30;

    /** No parameter sync. */
    public static final Chunks NONE = new Chunks(0, 0);

    /**
     * Checks the numbers.
     *
     * @throws IllegalArgumentException naming the number and the rule it breaks
     */
    public Chunks {
      atLeast("slots for chunks", slots, 0);
      atLeast("bytes of a chunk", bytes, slots == 0 ? 0 : 64);
      if (bytes > MOST_BYTES) {
        throw new IllegalArgumentException(
            "bytes of a chunk must be at most " + MOST_BYTES + ", but is " + bytes);
      }
    }
  }
}
