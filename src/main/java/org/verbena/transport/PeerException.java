package org.verbena.transport;

/**
 * A peer is lost, left, or did not answer in time. What was begun with it can't be finished: the
 * exchange or transport that throws it can only be closed.
 *
 * <p>The message names this rank, the operation, its epoch, the peer, and what is known of it.
 */
public final class PeerException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int peer;
  private final long offset;
  private final long bytes;
  private final boolean ofRound;

  public PeerException(int peer, String message) {
    this(peer, message, 0, 0);
  }

  /** Of a wait, whose message names the operation and its epoch already. */
  static PeerException ofRound(int peer, String message) {
    return new PeerException(peer, message, 0, 0, true);
  }

  /**
   * An operation on a peer's window failed.
   *
   * @param offset of what it was for in that window
   * @param bytes how long that is; 0 if it is not known
   */
  public PeerException(int peer, String message, long offset, long bytes) {
    this(peer, message, offset, bytes, false);
  }

  private PeerException(int peer, String message, long offset, long bytes, boolean ofRound) {
    super(message);
    this.peer = peer;
    this.offset = offset;
    this.bytes = bytes;
    this.ofRound = ofRound;
  }

  /** Whether the message names the operation and its epoch; a transport alone knows neither. */
  public boolean isOfRound() {
    return ofRound;
  }

  /** The rank that is the cause; not always the one that was waited for. */
  public int peer() {
    return peer;
  }

  /** Where in the peer's window an operation failed, if {@link #bytes} is not 0. */
  public long offset() {
    return offset;
  }

  /** The length of the operation that failed, or 0. */
  public long bytes() {
    return bytes;
  }
}
