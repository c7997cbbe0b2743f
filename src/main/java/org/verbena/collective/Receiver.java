package org.verbena.collective;

import java.lang.foreign.MemorySegment;
import org.verbena.layout.RingLayout;
import org.verbena.transport.Transport;

/**
 * The end of a link: messages are taken in the order in which they were sent, read in place, and
 * given back, which lets the sender use their memory again. Several may be taken before the first
 * is given back.
 *
 * <pre>{@code
 * long at = receiver.receive();
 * ... use receiver.bytes() bytes of receiver.memory() from at on ...
 * receiver.release();
 * }</pre>
 *
 * <p>One thread at a time, for all moves of a {@link Collective} together. Allocates nothing.
 */
public final class Receiver {
  private final Port port;
  private final Transport transport;
  private final String operation;
  private final RingLayout layout;
  private final Move move;
  private final int source;
  private final int outgoing;
  private final int incoming;
  private final int slots;
  private final long[] tickets;
  private final int[] lengths;

  /** Messages that were announced, and are read if the receiver reads. */
  private long announced;

  private long received;
  private long released;

  Receiver(
      Port port,
      String operation,
      RingLayout layout,
      Move move,
      int source,
      int outgoing,
      int incoming) {
    this.port = port;
    this.transport = port.transport();
    this.operation = operation;
    this.layout = layout;
    this.move = move;
    this.source = source;
    this.outgoing = outgoing;
    this.incoming = incoming;
    slots = layout.shape().slots();
    tickets = new long[slots];
    lengths = new int[slots];
  }

  /** The rank at the other end. */
  public int source() {
    return source;
  }

  /** The memory in which messages lie, at the offsets that {@link #receive} returns. */
  public MemorySegment memory() {
    return transport.window();
  }

  /**
   * Whether {@link #receive} would not have to wait. Does not block; does not notice a dead peer.
   */
  public boolean isReady() {
    port.check(operation);
    return hasNext();
  }

  /**
   * Waits for the next message and takes it.
   *
   * @return where it is, in bytes from the start of {@link #memory}, until it is {@linkplain
   *     #release given back}; a multiple of 64
   * @throws IllegalStateException if as many messages as there are slots were not given back
   * @throws org.verbena.transport.PeerException if the sender is lost, or late
   */
  public long receive() {
    port.check(operation);
    if (received - released == slots) {
      throw new IllegalStateException(
          "rank %d: %s from rank %d: all %d slots hold messages that were not given back"
              .formatted(port.rank(), operation, source, slots));
    }
    port.startWait(operation, received);
    while (!hasNext()) {
      port.pause(source);
    }
    int slot = (int) (received % slots);
    received++;
    return layout.receive(incoming, slot);
  }

  /** The length of the message that was taken last. */
  public int bytes() {
    if (received == 0) {
      throw new IllegalStateException("no message was taken yet");
    }
    return lengths[(int) ((received - 1) % slots)];
  }

  /**
   * Gives back the oldest message that is taken.
   *
   * @throws IllegalStateException if none is
   */
  public void release() {
    port.check(operation);
    if (released == received) {
      throw new IllegalStateException(
          "rank %d: %s from rank %d: no message is taken"
              .formatted(port.rank(), operation, source));
    }
    released++;
    transport.signalRelease(source, layout.credit(outgoing), released);
  }

  private boolean hasNext() {
    while (announced - released < slots && announce()) {}
    return received < announced && port.isComplete(source, tickets[(int) (received % slots)]);
  }

  /** Looks for the signal of one more message, and begins to read it. */
  private boolean announce() {
    int slot = (int) (announced % slots);
    long word = port.wordAcquire(layout.ready(incoming, slot));
    if (!Ready.isOf(announced, word)) {
      return false;
    }
    int bytes = Ready.bytes(word);
    if (bytes < 0 || bytes > layout.shape().bytes()) {
      throw port.broken(
          source,
          "%s: rank %d says that message %d has %d bytes, at most %d can be"
              .formatted(operation, source, announced, bytes, layout.shape().bytes()));
    }
    lengths[slot] = bytes;
    if (move == Move.READ && bytes > 0) {
      tickets[slot] =
          transport.read(
              source, layout.send(outgoing, slot), layout.receive(incoming, slot), bytes);
    }
    announced++;
    return true;
  }
}
