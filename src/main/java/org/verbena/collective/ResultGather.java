package org.verbena.collective;

import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Pieces of all ranks, each of its own length, into the memory of one rank, the target. A gather is
 * one piece of every rank, the target's own included, also where a piece is empty; the n-th piece
 * of each rank belongs to the n-th gather. Ranks may be some gathers ahead of the target, as many
 * as it was opened with slots.
 *
 * <pre>{@code
 * gather.send(piece);                       // on every rank
 * if (gather.isTarget()) {
 *   gather.receive();
 *   ... for each rank: gather.bytes(rank) bytes of gather.memory() from gather.offset(rank) on ...
 *   gather.release();
 * }
 * }</pre>
 *
 * <p>One thread at a time, for all moves of a {@link Collective} together. Allocates nothing.
 */
public final class ResultGather {
  private final Sender sender;
  private final Receiver @Nullable [] receivers;
  private final long[] offsets;
  private int arrived;

  /** Receivers are those of the target, one of each rank; null elsewhere. */
  ResultGather(Sender sender, Receiver @Nullable [] receivers) {
    this.sender = sender;
    this.receivers = receivers;
    this.offsets = new long[receivers == null ? 0 : receivers.length];
  }

  /** The rank that gets the pieces. */
  public int target() {
    return sender.target();
  }

  /** Whether this rank is the target. */
  public boolean isTarget() {
    return receivers != null;
  }

  /**
   * This rank's way to the target, for a piece that is made where it leaves from: {@linkplain
   * Sender#claim claim} room, fill it, {@linkplain Sender#send(int) send}.
   */
  public Sender sender() {
    return sender;
  }

  /** Copies a piece and sends it. */
  public void send(MemorySegment piece) {
    sender.send(piece);
  }

  /** Whether {@link #receive} would not have to wait. Does not block, nor notice a dead peer. */
  public boolean isReady() {
    Receiver[] all = receivers();
    for (int rank = arrived; rank < all.length; rank++) {
      if (!all[rank].isReady()) {
        return false;
      }
    }
    return true;
  }

  /**
   * Waits until the pieces of all ranks are there. They stay until they are given back.
   *
   * @throws org.verbena.transport.PeerException if a rank is lost, or late
   * @throws IllegalStateException if the gather before was not given back, or this is not the
   *     target
   */
  public void receive() {
    Receiver[] all = receivers();
    if (arrived == all.length) {
      throw new IllegalStateException("the gather before was not given back: release it first");
    }
    while (arrived < all.length) {
      offsets[arrived] = all[arrived].receive();
      arrived++;
    }
  }

  /** The memory in which pieces lie. */
  public MemorySegment memory() {
    return receivers()[0].memory();
  }

  /** Where the piece of a rank begins, in bytes from the start of {@link #memory}. */
  public long offset(int rank) {
    gathered(rank);
    return offsets[rank];
  }

  /** The length of the piece of a rank. */
  public int bytes(int rank) {
    return gathered(rank).bytes();
  }

  /** Gives the pieces back: their memory may be written again. */
  public void release() {
    for (int rank = 0; rank < offsets.length; rank++) {
      gathered(rank).release();
    }
    arrived = 0;
  }

  private Receiver gathered(int rank) {
    Receiver[] all = receivers();
    Objects.checkIndex(rank, all.length);
    if (arrived != all.length) {
      throw new IllegalStateException("no gather was received");
    }
    return all[rank];
  }

  private Receiver[] receivers() {
    if (receivers == null) {
      throw new IllegalStateException(
          "the pieces are with rank %d, the target".formatted(sender.target()));
    }
    return receivers;
  }
}
