package org.verbena.verbs;

/** What requests are posted to. Their completions come to one completion queue, or to two. */
abstract sealed class Postable extends Resource permits QueuePair, SharedReceiveQueue {
  Postable(Resource... parents) {
    super(parents);
  }

  abstract ProtectionDomain domain();

  /** The longest message that one request sends or receives. */
  abstract long mostMessageBytes();
}
