package org.verbena.transport;

import java.lang.foreign.MemorySegment;

/**
 * One-sided access to the windows of a group.
 *
 * <p>A window has the same size on every rank, so an offset means the same everywhere. Offsets and
 * sizes are in bytes from the window's start, a peer is a rank of the group, this one included.
 *
 * <p><b>Order.</b> What is written to a peer, and then signalled to the same peer, is visible there
 * to whoever reads the signal with acquire and finds the new value. Nothing is said about the order
 * of writes and signals to different peers, or of different {@linkplain #channel channels}.
 *
 * <p><b>Local memory.</b> Memory that a write reads from may be changed again once {@link
 * #isComplete} says so for the ticket of that write.
 *
 * <p><b>Threads.</b> One thread at a time; no thread of the library's own is needed for progress.
 */
public interface Transport extends AutoCloseable {
  /** This rank's number, from 0. */
  int rank();

  /** How many ranks the group has. */
  int size();

  /** This rank's own window: peers write into it at any time. */
  MemorySegment window();

  /**
   * Whether what is staged for this peer lands in its window at once. Then nothing is sent later,
   * and no send region is needed.
   */
  boolean isDirect(int peer);

  /**
   * Where to put bytes that are bound for a peer: the peer's own window if it is {@linkplain
   * #isDirect direct}, to be filled at the remote offset, and this rank's window otherwise, to be
   * filled at the local offset that is then given to {@link #write}.
   */
  MemorySegment stage(int peer);

  /**
   * Writes bytes of this rank's window into a peer's. To a direct peer nothing is left to do.
   *
   * @return the ticket of this write, for {@link #isComplete}
   */
  long write(int peer, long remoteOffset, long localOffset, long bytes);

  /**
   * Makes memory of the caller's known, so that {@link #write(int, long, Registration, long, long)}
   * can send from it in place. Nobody else gets access to it. It is native, alive until the
   * registration is closed, and may be read-only.
   */
  Registration register(MemorySegment memory);

  /**
   * Writes bytes of registered memory into a peer's window. Where the peer is {@linkplain #isDirect
   * direct}, that is the one copy that is needed; otherwise nothing is copied, and writes that
   * follow each other in the peer's window may leave together. The memory may be changed again once
   * {@link #isComplete} says so.
   *
   * @param from registered with this transport
   * @param offset in {@code from}
   * @return the ticket of this write
   */
  long write(int peer, long remoteOffset, Registration from, long offset, long bytes);

  /**
   * Stores a 64-bit word into a peer's window with release, after all that was written to this peer
   * before. The offset is a multiple of 8.
   */
  void signalRelease(int peer, long remoteOffset, long value);

  /** The same for a 32-bit word; the offset is a multiple of 4. */
  void signalIntRelease(int peer, long remoteOffset, int value);

  /**
   * Reads bytes of a peer's window into this rank's.
   *
   * @return the ticket of this read: the bytes are there when it is complete
   */
  long read(int peer, long remoteOffset, long localOffset, long bytes);

  /**
   * Adds to a 64-bit word of a peer's window, atomically among all ranks that change it this way,
   * and stores what it held before into this rank's window. Both offsets are multiples of 8.
   *
   * @return the ticket: the earlier value is there when it is complete
   */
  long fetchAndAdd(int peer, long remoteOffset, long delta, long localOffset);

  /**
   * Replaces a 64-bit word of a peer's window if it holds what is expected, atomically among all
   * ranks that change it this way, and stores what it held before into this rank's window. Both
   * offsets are multiples of 8.
   *
   * @return the ticket: the earlier value is there when it is complete
   */
  long compareAndSwap(int peer, long remoteOffset, long expected, long value, long localOffset);

  /**
   * Whether the operation of this ticket, and all to this peer and channel before it, is complete.
   * Does not block, and makes progress. 0 is the ticket of nothing, and always complete.
   *
   * @throws PeerException if an operation to this peer failed
   */
  boolean isComplete(int peer, long ticket);

  /**
   * Chooses the channel of what follows, 0 unless set. A signal speaks for what was written to its
   * peer on its own channel; a transport may carry channels side by side.
   */
  default void channel(int channel) {}

  /**
   * Says that a peer itself has set a word to 0 in which this rank signals to it.
   *
   * @param remoteOffset of the word, of 32 bits
   */
  default void resetSignal(int peer, long remoteOffset) {}

  /**
   * Takes note of what the network tells; to be called by who waits for a signal, between looks.
   *
   * @throws PeerException if an operation failed; the others are told by {@link #fail}
   */
  default void progress() {}

  /** What suits a thread that waits on this transport. */
  default IdleStrategy idleStrategy() {
    return IdleStrategy.forRanks(size());
  }

  /** How bytes reach a peer, in words for people. */
  default String path(int peer) {
    return peer == rank() ? "own memory" : "shared memory";
  }

  /** What was posted to the network so far. */
  default Traffic traffic() {
    return Traffic.NONE;
  }

  /**
   * What is known of a peer without waiting for it. May cost a system call: for waits that have
   * become long.
   */
  PeerState state(int peer);

  /**
   * Tells all peers that this rank gives up because of a peer, so that they need not wait for it.
   * The transport can then only be closed. Only the first call counts.
   */
  void fail(int culprit);

  /**
   * Leaves the group in order and gives the window back. Others that wait for this rank learn that
   * it closed; what it sent before still arrives. Closing again does nothing.
   *
   * @throws IllegalStateException if a native call of another thread uses a window; close again
   *     once it has returned
   */
  @Override
  void close();
}
