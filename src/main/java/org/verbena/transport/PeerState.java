package org.verbena.transport;

/**
 * What a transport knows of a peer.
 *
 * @param kind alive, or how it ended
 * @param culprit the rank because of which it gave up, if it {@linkplain Kind#FAILED failed}; its
 *     own number otherwise
 */
public record PeerState(Kind kind, int culprit) {
  /** Alive, or how a rank ended. */
  public enum Kind {
    /** Nothing is known against it; it may be slow or stopped. */
    ALIVE,
    /** It closed in order: what it sent is there, and no more will come. */
    CLOSED,
    /** It gave up because of another rank. */
    FAILED,
    /** Its process ended without closing. */
    DEAD
  }
}
