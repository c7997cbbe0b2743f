package org.verbena.transport;

/**
 * What a transport has posted to the network since it was opened; nothing where no network is used.
 * Read by the thread that calls the transport.
 */
public interface Traffic {
  /** Nothing, ever. */
  Traffic NONE =
      new Traffic() {
        @Override
        public long bytes() {
          return 0;
        }

        @Override
        public long operations(Operation operation) {
          return 0;
        }

        @Override
        public long signals(int peer) {
          return 0;
        }
      };

  /** Kinds of operations on a peer's memory. */
  enum Operation {
    WRITE,
    WRITE_WITH_IMMEDIATE,
    ATOMIC_WRITE,
    READ,
    FETCH_AND_ADD,
    COMPARE_AND_SWAP
  }

  /**
   * Payload bytes of all requests to other ranks, signals included; not of words that a rank says
   * of itself: whether it answers, how much it has taken, that it leaves.
   */
  long bytes();

  /** How many requests of a kind were posted, of those that {@link #bytes} counts. */
  long operations(Operation operation);

  /** How many signals went to a peer. */
  long signals(int peer);
}
