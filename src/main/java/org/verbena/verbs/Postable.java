package org.verbena.verbs;

/** What requests are posted to. Their completions come to one completion queue, or to two. */
abstract sealed class Postable extends Resource permits QueuePair, SharedReceiveQueue {
  Postable(Resource... parents) {
    super(parents);
  }

  abstract ProtectionDomain domain();

  /** The longest message that one request sends or receives. */
  abstract long mostMessageBytes();

  /** Whether {@code id} carries the tag of this, in its generation. */
  abstract boolean isTagged(long id);

  /**
   * Takes note of the completion in row {@code row}: frees slots, keeps the first error, shows it.
   *
   * @return whether it belongs to an outstanding request
   */
  abstract boolean accounts(long id, int row, Completions into);
}
