package org.verbena.layout;

import static java.lang.Math.multiplyExact;

/**
 * Where the chunks of a parameter sync pass through a rank's window. For R ranks:
 *
 * <ul>
 *   <li><b>chunk slots</b> [slots], a header of {@value #HEADER_BYTES} bytes and a chunk each: it
 *       arrives there and leaves from there.
 *   <li><b>chunk ready</b> [R][slots], 64-bit signals of those that send chunks to this rank.
 *   <li><b>chunk request</b> [R][slots], 64-bit signals of those that want chunks from this rank.
 *   <li><b>chunk accepted</b> [R], a 64-bit signal of those that want chunks from this rank, how
 *       many have arrived whole.
 *   <li><b>sync status</b> [R], a 64-bit signal of every peer, how far it is.
 *   <li><b>sync reason</b> [R], {@value #REASON_BYTES} bytes of text of every peer, why it gave up;
 *       and one place where this rank's own leaves from.
 * </ul>
 *
 * <p>What different peers write is on different lines. Methods that return an offset check their
 * arguments and allocate nothing. Immutable.
 */
public final class ChunkLayout {
  /** The bytes before each chunk. */
  public static final int HEADER_BYTES = 64;

  /** The most bytes of a reason to give up, its length included. */
  public static final int REASON_BYTES = 1024;

  private final int ranks;
  private final CollectiveShape.Chunks shape;
  private final long slotStride;
  private final long signalStride;
  private final long slots;
  private final long ready;
  private final long request;
  private final long accepted;
  private final long status;
  private final long reason;
  private final long ownReason;

  ChunkLayout(int ranks, CollectiveShape.Chunks shape, CollectiveLayout.Regions regions) {
    this.ranks = shape.slots() == 0 ? 0 : ranks;
    this.shape = shape;
    slotStride = BufferLayout.align(HEADER_BYTES + (long) shape.bytes(), CollectiveLayout.LINE);
    signalStride = BufferLayout.align(8L * shape.slots(), CollectiveLayout.LINE);
    slots = regions.add("chunk slots", multiplyExact(slotStride, (long) shape.slots()));
    ready = regions.add("chunk ready", signalStride * this.ranks);
    request = regions.add("chunk request", signalStride * this.ranks);
    accepted = regions.add("chunk accepted", (long) CollectiveLayout.LINE * this.ranks);
    status = regions.add("sync status", (long) CollectiveLayout.LINE * this.ranks);
    reason = regions.add("sync reason", (long) REASON_BYTES * this.ranks);
    ownReason = regions.add("own sync reason", this.ranks == 0 ? 0 : REASON_BYTES);
  }

  /** How many slots of how many bytes. */
  public CollectiveShape.Chunks shape() {
    return shape;
  }

  /** Where a chunk's header begins; the chunk follows it. */
  public long slot(int slot) {
    return slots + slotStride * BufferLayout.check("slot", slot, shape.slots());
  }

  /** The signal of a peer that the chunk in this slot is there. */
  public long ready(int peer, int slot) {
    return ready + signal(peer, slot);
  }

  /** The signal of a peer which chunk it wants next from this slot. */
  public long request(int peer, int slot) {
    return request + signal(peer, slot);
  }

  /** The signal of a peer how many chunks have arrived there whole. */
  public long accepted(int peer) {
    return accepted + (long) CollectiveLayout.LINE * BufferLayout.check("peer", peer, ranks);
  }

  /** The signal of a peer how far it is. */
  public long status(int peer) {
    return status + (long) CollectiveLayout.LINE * BufferLayout.check("peer", peer, ranks);
  }

  /** Where a peer says why it gave up. */
  public long reason(int peer) {
    return reason + (long) REASON_BYTES * BufferLayout.check("peer", peer, ranks);
  }

  /** Where this rank's own reason leaves from. */
  public long ownReason() {
    return ownReason;
  }

  private long signal(int peer, int slot) {
    return signalStride * BufferLayout.check("peer", peer, ranks)
        + 8L * BufferLayout.check("slot", slot, shape.slots());
  }
}
