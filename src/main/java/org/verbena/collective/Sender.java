package org.verbena.collective;

import java.lang.foreign.MemorySegment;
import org.verbena.layout.RingLayout;
import org.verbena.transport.Transport;

/**
 * The start of a link: messages of up to a fixed number of bytes leave in their order. As many as
 * the link has slots may be under way; then {@link #claim} waits until the receiver has given one
 * back, so that none is overwritten before it was taken.
 *
 * <pre>{@code
 * long at = sender.claim();
 * ... fill sender.memory() from at on ...
 * sender.send(bytes);
 * }</pre>
 *
 * <p>One thread at a time, for all moves of a {@link Collective} together. Allocates nothing.
 */
public final class Sender {
  private final Port port;
  private final Transport transport;
  private final String operation;
  private final RingLayout layout;
  private final Move move;
  private final int target;
  private final int outgoing;
  private final int incoming;
  private final int slots;
  private final boolean direct;
  private final MemorySegment memory;
  private final long[] tickets;
  private long sent;
  private boolean claimed;

  Sender(
      Port port,
      String operation,
      RingLayout layout,
      Move move,
      int target,
      int outgoing,
      int incoming) {
    this.port = port;
    this.transport = port.transport();
    this.operation = operation;
    this.layout = layout;
    this.move = move;
    this.target = target;
    this.outgoing = outgoing;
    this.incoming = incoming;
    slots = layout.shape().slots();
    direct = move == Move.WRITE && transport.isDirect(target);
    memory = direct ? transport.stage(target) : transport.window();
    tickets = new long[slots];
  }

  /** The rank at the other end. */
  public int target() {
    return target;
  }

  /** The most bytes of a message. */
  public int capacity() {
    return layout.shape().bytes();
  }

  /** The memory in which messages are put together, at the offsets that {@link #claim} returns. */
  public MemorySegment memory() {
    return memory;
  }

  /** Whether {@link #claim} would not have to wait. Does not block; does not notice a dead peer. */
  public boolean canClaim() {
    port.check(operation);
    return claimed || isFree();
  }

  /**
   * Waits until there is room for one more message. Claiming again what was not sent yet changes
   * nothing.
   *
   * @return where the message is put, in bytes from the start of {@link #memory}; a multiple of 64
   * @throws org.verbena.transport.PeerException if the receiver is lost, or late
   */
  public long claim() {
    port.check(operation);
    if (!claimed) {
      port.startWait(operation, sent);
      while (!isFree()) {
        port.pause(target);
      }
      claimed = true;
    }
    return offset();
  }

  /**
   * Sends the message that was put where {@link #claim} said.
   *
   * @param bytes its length, 0 to {@link #capacity}
   * @throws IllegalStateException if nothing is claimed
   */
  public void send(int bytes) {
    port.check(operation);
    if (!claimed) {
      throw new IllegalStateException(
          "rank %d: %s to rank %d: no slot is claimed; call claim first"
              .formatted(port.rank(), operation, target));
    }
    checkLength(bytes);
    int slot = slot();
    if (move == Move.WRITE && !direct && bytes > 0) {
      tickets[slot] =
          transport.write(
              target, layout.receive(incoming, slot), layout.send(outgoing, slot), bytes);
    }
    transport.signalRelease(target, layout.ready(incoming, slot), Ready.word(sent, bytes));
    sent++;
    claimed = false;
  }

  /**
   * Claims room for a message, copies it there and sends it.
   *
   * @param message at most {@link #capacity} bytes; may be changed again at once
   */
  public void send(MemorySegment message) {
    checkLength(message.byteSize());
    long at = claim();
    MemorySegment.copy(message, 0, memory, at, message.byteSize());
    send((int) message.byteSize());
  }

  private void checkLength(long bytes) {
    if (bytes < 0 || bytes > capacity()) {
      throw new IllegalArgumentException(
          "rank %d: %s to rank %d: a message has 0 to %d bytes, got %d; open it with more"
              .formatted(port.rank(), operation, target, capacity(), bytes));
    }
  }

  private boolean isFree() {
    long returned = port.wordAcquire(layout.credit(outgoing));
    if (returned < 0 || returned > sent) {
      throw port.broken(
          target,
          "%s: rank %d says that it gave back %d messages, but was sent %d"
              .formatted(operation, target, returned, sent));
    }
    return sent - returned < slots && port.isComplete(target, tickets[slot()]);
  }

  private long offset() {
    return direct ? layout.receive(incoming, slot()) : layout.send(outgoing, slot());
  }

  private int slot() {
    return (int) (sent % slots);
  }
}
