package org.verbena.layout;

import static java.lang.Math.multiplyExact;

/**
 * Where the rings lie in which messages travel from one rank to another. A ring is one of the
 * incoming rings of the rank at its end, and one of the outgoing rings of the rank at its start,
 * each numbered from 0. In a rank's window are:
 *
 * <ul>
 *   <li><b>receive</b> [incoming][slots] and, where messages are put there first, <b>send</b>
 *       [outgoing][slots], a message each, rounded up to 64 bytes.
 *   <li><b>ready</b> [incoming][slots], a 64-bit signal of the sender for each message, those of
 *       one ring on lines of their own.
 *   <li><b>credit</b> [outgoing], a 64-bit signal of the receiver, on a line of its own: how many
 *       messages it has given back.
 * </ul>
 *
 * <p>Methods that return an offset check their arguments and allocate nothing. Immutable.
 */
public final class RingLayout {
  private final CollectiveShape.Ring shape;
  private final long messageStride;
  private final long readyStride;
  private final long receive;
  private final long ready;
  private final long credit;
  private final long send;

  RingLayout(String name, CollectiveShape.Ring shape, CollectiveLayout.Regions regions) {
    this.shape = shape;
    messageStride = BufferLayout.align(shape.bytes(), CollectiveLayout.LINE);
    readyStride = BufferLayout.align(8L * shape.slots(), CollectiveLayout.LINE);
    long ring = multiplyExact(messageStride, (long) shape.slots());
    receive = regions.add(name + " receive", multiplyExact(ring, (long) shape.incoming()));
    ready = regions.add(name + " ready", multiplyExact(readyStride, (long) shape.incoming()));
    credit = regions.add(name + " credit", (long) CollectiveLayout.LINE * shape.outgoing());
    send =
        shape.sendSlots()
            ? regions.add(name + " send", multiplyExact(ring, (long) shape.outgoing()))
            : -1;
  }

  /** How many rings, slots and bytes. */
  public CollectiveShape.Ring shape() {
    return shape;
  }

  /** Where a message arrives, in the receiver's window. */
  public long receive(int incoming, int slot) {
    return receive + messageStride * index("incoming ring", incoming, shape.incoming(), slot);
  }

  /** Where a message leaves from, in the sender's window. */
  public long send(int outgoing, int slot) {
    if (send < 0) {
      throw new IllegalStateException("messages of this layout need no send slots");
    }
    return send + messageStride * index("outgoing ring", outgoing, shape.outgoing(), slot);
  }

  /** The signal that a message is there, in the receiver's window. */
  public long ready(int incoming, int slot) {
    BufferLayout.check("slot", slot, shape.slots());
    return ready
        + readyStride * BufferLayout.check("incoming ring", incoming, shape.incoming())
        + 8L * slot;
  }

  /** The signal how many messages were given back, in the sender's window. */
  public long credit(int outgoing) {
    return credit
        + (long) CollectiveLayout.LINE
            * BufferLayout.check("outgoing ring", outgoing, shape.outgoing());
  }

  private long index(String name, int ring, int rings, int slot) {
    return (long) BufferLayout.check(name, ring, rings) * shape.slots()
        + BufferLayout.check("slot", slot, shape.slots());
  }
}
