package org.verbena.verbs;

/**
 * The 64-bit id that goes with a work request to the device and comes back with its completion:
 *
 * <pre>
 * 63      signalled only to free slots: not shown to the user
 * 62..51  place of the work queue in its completion queue
 * 50..32  generation of that place, from 1: who was there before is not mistaken
 * 31..0   number of the request in its queue, modulo 2^32
 * </pre>
 *
 * The upper half but for its first bit is the tag of the work queue.
 */
final class RequestId {
  static final int MAX_PLACES = 1 << 12;
  static final int MAX_GENERATION = (1 << 19) - 1;

  static final long HIDDEN = Long.MIN_VALUE;

  private static final int PLACE_SHIFT = 19;
  private static final long NUMBER = 0xffff_ffffL;
  private static final long TAG = ~HIDDEN & ~NUMBER;

  private RequestId() {}

  static int tag(int place, int generation) {
    return place << PLACE_SHIFT | generation;
  }

  static long id(int tag, int number) {
    return (long) tag << Integer.SIZE | Integer.toUnsignedLong(number);
  }

  /** The id, not hidden, of the request that is {@code many} after request {@code id}. */
  static long plus(long id, int many) {
    return (id & TAG) | ((id + many) & NUMBER);
  }

  /** The id of the request after request {@code id}, hidden if that is. */
  static long next(long id) {
    long next = id + 1;
    return (int) next == 0 ? next - (1L << Integer.SIZE) : next;
  }

  static int tag(long id) {
    return (int) ((id & ~HIDDEN) >>> Integer.SIZE);
  }

  static int number(long id) {
    return (int) id;
  }

  /** The same id, hidden. */
  static long hidden(long id) {
    return id | HIDDEN;
  }

  static boolean isHidden(long id) {
    return id < 0;
  }

  static int place(int tag) {
    return tag >>> PLACE_SHIFT;
  }

  static int generation(int tag) {
    return tag & MAX_GENERATION;
  }
}
