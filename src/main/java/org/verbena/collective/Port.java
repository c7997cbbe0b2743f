package org.verbena.collective;

import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.verbena.transport.IdleStrategy;
import org.verbena.transport.PeerException;
import org.verbena.transport.Transport;
import org.verbena.transport.Wait;

/** The transport of a group as its moves use it: with ordered words, waits, and one failure. */
final class Port {
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

  private final Transport transport;
  private final IdleStrategy idleStrategy;
  private final Duration timeout;
  private final Wait wait;
  private @Nullable RuntimeException failure;
  private boolean closed;

  Port(Transport transport, IdleStrategy idleStrategy, Duration timeout) {
    this.transport = transport;
    this.idleStrategy = idleStrategy;
    this.timeout = timeout;
    wait = new Wait(transport, idleStrategy, timeout);
  }

  Transport transport() {
    return transport;
  }

  int rank() {
    return transport.rank();
  }

  /** Refuses every call after a failure or the close. */
  void check(String operation) {
    if (failure != null) {
      throw new IllegalStateException(
          "rank %d: %s: it failed before and can only be closed".formatted(rank(), operation),
          failure);
    }
    if (closed) {
      throw new IllegalStateException("rank %d: %s: it is closed".formatted(rank(), operation));
    }
  }

  /** A word of this rank's own window. */
  long wordAcquire(long offset) {
    return (long) LONG.getAcquire(transport.window(), offset);
  }

  /** Begins a wait; its number, as an epoch, tells which of many it is. */
  void startWait(String operation, long number) {
    wait.start(operation, number);
  }

  /** Waits that are longer by a second for each 16 MiB that a peer may have to bring to a disk. */
  Wait patience(long bytes) {
    return new Wait(transport, idleStrategy, timeout.plusSeconds(bytes >> 24));
  }

  /** Pauses once, in the wait that was begun, for this peer. */
  void pause(int peer) {
    pause(wait, peer);
  }

  void pause(Wait wait, int peer) {
    try {
      wait.pause(peer);
    } catch (PeerException e) {
      throw lost(e);
    }
  }

  /** Whether the operation of a ticket, and all to this peer before it, is complete. */
  boolean isComplete(int peer, long ticket) {
    try {
      return transport.isComplete(peer, ticket);
    } catch (PeerException e) {
      throw lost(e);
    }
  }

  private PeerException lost(PeerException e) {
    failure = e;
    transport.fail(e.peer());
    return e;
  }

  /** What a peer sent can't be. */
  CollectiveException broken(int peer, String message) {
    CollectiveException e = new CollectiveException(peer, "rank %d: %s".formatted(rank(), message));
    failure = e;
    transport.fail(peer);
    return e;
  }

  /** Nothing more is possible after this, though no peer is lost. */
  <E extends RuntimeException> E failed(E e) {
    failure = e;
    return e;
  }

  void close() {
    closed = true;
    transport.close();
  }
}
