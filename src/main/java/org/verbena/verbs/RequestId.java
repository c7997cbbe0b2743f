package org.verbena.verbs;

/**
 * The 64-bit id that goes with a work request to the device and comes back with its completion:
 *
 * <pre>
 * 63..52  place of the queue pair in its completion queue
 * 51..44  generation of that place, from 1: who was there before is not mistaken
 * 43      receive
 * 42      signalled only to free slots: not shown to the user
 * 41..0   number of the request in its queue, modulo 2^42
 * </pre>
 */
final class RequestId {
  static final int MAX_PLACES = 1 << 12;
  static final int MAX_GENERATION = (1 << 8) - 1;

  static final long RECEIVE = 1L << 43;
  static final long HIDDEN = 1L << 42;
  static final long SEQUENCE_MASK = HIDDEN - 1;

  /** The bits of a tag. */
  static final long TAG_MASK = -1L << 44;

  private static final int PLACE_SHIFT = 52;
  private static final int GENERATION_SHIFT = 44;

  private RequestId() {}

  static long tag(int place, int generation) {
    return (long) place << PLACE_SHIFT | (long) generation << GENERATION_SHIFT;
  }

  static int place(long id) {
    return (int) (id >>> PLACE_SHIFT);
  }

  static int generation(long id) {
    return (int) (id >>> GENERATION_SHIFT) & MAX_GENERATION;
  }
}
