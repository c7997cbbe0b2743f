package org.verbena.bootstrap;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.nio.channels.Selector;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A group of processes over TCP. Ranks start in any order; all connect to rank 0, which in every
 * collective call passes on to each what the others give. Nothing runs between the calls.
 *
 * <p>Ranks that have a {@linkplain Membership#secret secret} prove to each other that they know it
 * before they say anything else, and refuse who does not. Without one they form groups on loopback
 * only, unless told that they may be {@linkplain Membership#insecure insecure}: then whoever
 * reaches the rendezvous and says the right job, size and a free rank is let in. What members say
 * is not encrypted, as what they write by RDMA is not.
 */
public final class TcpGroup implements Group {
  private static final System.Logger LOG = System.getLogger(TcpGroup.class.getName());

  private final Membership membership;
  private final Duration timeout;
  private final Selector selector;

  /** Of rank 0 to all others, in rank order; of the others to rank 0 alone. */
  private final List<Connection> connections = new ArrayList<>();

  private @Nullable String broken;

  private TcpGroup(Membership membership, Duration timeout, Selector selector) {
    this.membership = membership;
    this.timeout = timeout;
    this.selector = selector;
  }

  /**
   * Joins a group, with one deadline for joining and for each later call.
   *
   * @see #join(Membership, Duration, Duration)
   */
  public static TcpGroup join(Membership membership, Duration timeout) {
    return join(membership, timeout, timeout);
  }

  /**
   * Joins a group: returns when all ranks have come.
   *
   * @param forming how long to wait for the other ranks to start
   * @param timeout the deadline of each later call
   * @throws GroupException if ranks are missing at the deadline (they are named), if another
   *     process has this rank's place, if the sizes of the group differ, if there is no secret
   *     where one is needed, or on an interrupt
   */
  public static TcpGroup join(Membership membership, Duration forming, Duration timeout) {
    return join(membership, forming, timeout, InetAddress::getAllByName);
  }

  static TcpGroup join(
      Membership membership, Duration forming, Duration timeout, Dialer.Resolver resolver) {
    Deadline deadline = Deadline.in(forming);
    TcpGroup group = null;
    boolean joined = false;
    try {
      group = new TcpGroup(membership, timeout, Selector.open());
      group.connect(deadline, resolver);
      joined = true;
      return group;
    } catch (IOException e) {
      throw failure(membership, "join", e.toString(), e);
    } catch (GroupException e) {
      throw failure(membership, "join", String.valueOf(e.getMessage()), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw failure(membership, "join", "interrupted", e);
    } finally {
      if (group != null && !joined) {
        group.disconnect();
      }
    }
  }

  private void connect(Deadline deadline, Dialer.Resolver resolver)
      throws IOException, InterruptedException {
    if (size() == 1) {
      return;
    }
    if (membership.secret().isEmpty() && membership.insecure()) {
      LOG.log(
          System.Logger.Level.WARNING,
          "rank {0} of {1} takes part without a secret (insecure): whoever reaches rank 0 can join"
              + " the group, and learn addresses and keys",
          rank(),
          size());
    }
    if (rank() != 0) {
      connections.add(new Dialer(membership, selector, deadline, resolver).dial());
      return;
    }
    try (Listener listener = new Listener(membership, selector, deadline)) {
      connections.addAll(listener.admit(deadline));
    }
    converse(new Parts(0), deadline); // the last roll call may still be on its way
  }

  @Override
  public int rank() {
    return membership.rank();
  }

  @Override
  public int size() {
    return membership.size();
  }

  @Override
  public Duration timeout() {
    return timeout;
  }

  @Override
  public List<byte[]> allGather(String operation, byte[] mine) {
    Parts.checkSize(operation, mine);
    try {
      if (broken != null) {
        throw new GroupException(broken);
      }
      Parts parts = new Parts(size());
      parts.add(rank(), operation, mine);
      sendToAllBut(rank(), new Message.Part(rank(), operation, mine));
      converse(parts, Deadline.in(timeout));
      return parts.copy();
    } catch (GroupException e) {
      throw failure(membership, operation, String.valueOf(e.getMessage()), e);
    }
  }

  @Override
  public void close() {
    if (selector.isOpen()) {
      if (broken == null) {
        tellAll(new Message.Bye());
      }
      broken = "this rank has closed the group";
      disconnect();
    }
  }

  private void disconnect() {
    connections.forEach(Connection::close);
    try {
      selector.close();
    } catch (IOException _) {
      // it is gone either way
    }
  }

  /** Receives and sends until the parts are complete and nothing is left to send. */
  private void converse(Parts parts, Deadline deadline) {
    while (true) {
      boolean sent = true;
      for (int i = 0; i < connections.size(); i++) {
        sent &= serve(i, parts);
      }
      if (sent && parts.complete()) {
        return;
      }
      if (deadline.passed()) {
        throw fail(
            parts.complete()
                ? "another rank does not read what it is sent"
                : Parts.late(parts.missing(), timeout));
      }
      try {
        selector.select(deadline.millis() + 1);
      } catch (IOException e) {
        throw fail("cannot wait: " + e);
      }
      selector.selectedKeys().clear();
      if (Thread.interrupted()) {
        GroupException failure = fail("rank " + rank() + " was interrupted");
        Thread.currentThread().interrupt(); // only now: interrupted channels do not send
        throw failure;
      }
    }
  }

  /** Does what can be done at once with one connection; whether all is sent. */
  private boolean serve(int i, Parts parts) {
    Connection connection = connections.get(i);
    int peer = peer(i);
    try {
      while (awaits(peer, parts)) {
        Message message = connection.poll();
        if (message == null) {
          break;
        }
        receive(peer, message, parts);
      }
      // Unread messages of the next call must not end the wait for this one.
      connection.listen(awaits(peer, parts));
      return connection.flush();
    } catch (IOException e) {
      throw lost(i, e);
    }
  }

  private void receive(int peer, Message message, Parts parts) throws ProtocolException {
    switch (message) {
      case Message.Part(int from, String operation, byte[] bytes) -> {
        if (from < 0 || from >= size() || parts.has(from) || (rank() == 0 && from != peer)) {
          throw new ProtocolException("a second part of rank " + from);
        }
        String conflict = parts.add(from, operation, bytes);
        if (conflict != null) {
          throw fail(conflict);
        }
        if (rank() == 0) {
          sendToAllBut(from, message);
        }
      }
      case Message.Bye() -> throw fail("rank " + peer + " has left the group");
      case Message.Broken(String reason) -> throw fail(reason);
      default -> throw new ProtocolException("a message out of turn");
    }
  }

  /** Whether what this call needs next comes from that rank. */
  private boolean awaits(int peer, Parts parts) {
    return !parts.complete() && (rank() != 0 || !parts.has(peer));
  }

  private int peer(int connection) {
    return rank() == 0 ? connection + 1 : 0;
  }

  private void sendToAllBut(int rank, Message message) {
    ByteBuffer frame = Message.encode(message);
    for (int i = 0; i < connections.size(); i++) {
      if (peer(i) != rank) {
        try {
          connections.get(i).send(frame.duplicate());
        } catch (IOException e) {
          throw lost(i, e);
        }
      }
    }
  }

  /** The end of a connection, explained by what the other side said before it, if anything. */
  private GroupException lost(int i, IOException end) {
    Connection connection = connections.get(i);
    try {
      for (Message last = connection.poll(); last != null; last = connection.poll()) {
        if (last instanceof Message.Bye) {
          return fail("rank " + peer(i) + " has left the group");
        }
        if (last instanceof Message.Broken(String reason)) {
          return fail(reason);
        }
      }
    } catch (IOException _) {
      // no word of farewell
    }
    return fail("rank " + peer(i) + " is gone: " + end.getMessage());
  }

  /** Breaks the group, for the others too. */
  private GroupException fail(String reason) {
    if (broken == null) {
      broken = reason;
      tellAll(new Message.Broken(reason));
    }
    return new GroupException(broken);
  }

  private void tellAll(Message message) {
    for (Connection connection : connections) {
      try {
        connection.send(message);
      } catch (IOException _) {
        // it is gone and need not be told
      }
    }
  }

  private static GroupException failure(
      Membership membership, String operation, String reason, Throwable cause) {
    return new GroupException(
        Parts.where(membership.rank(), membership.size(), operation) + reason, cause);
  }
}
