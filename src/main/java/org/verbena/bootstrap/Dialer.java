package org.verbena.bootstrap;

import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProtocolException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A rank other than 0 while the group forms: it looks for rank 0 until it is let in. */
final class Dialer {
  private static final Duration CONNECT = Duration.ofSeconds(2);
  private static final Duration ANSWER = Duration.ofSeconds(5);
  private static final String ADVICE = Secret.ADVICE;

  /** From a name to addresses; asked again at each try. */
  interface Resolver {
    InetAddress[] resolve(String host) throws UnknownHostException;
  }

  private final Membership membership;
  private final Selector selector;
  private final Deadline deadline;
  private final Resolver resolver;

  Dialer(Membership membership, Selector selector, Deadline deadline, Resolver resolver) {
    this.membership = membership;
    this.selector = selector;
    this.deadline = deadline;
    this.resolver = resolver;
  }

  /** Tries until the group is complete or the deadline has passed. */
  Connection dial() throws InterruptedException {
    Backoff backoff = new Backoff();
    int tries = 0;
    String error = "";
    do {
      tries++;
      try {
        return tryOnce();
      } catch (ClosedByInterruptException _) {
        Thread.interrupted();
        throw new InterruptedException();
      } catch (IOException e) {
        if (error.isEmpty() || !deadline.passed()) { // a try that was cut short says little
          error = e instanceof UnknownHostException ? "cannot resolve " + e.getMessage() : text(e);
        }
      }
    } while (backoff.pause(deadline));
    throw new GroupException(
        String.format(
            "not let in by rank 0 at %s after %d tries; the last: %s; see whether rank 0 runs, and"
                + " runs there",
            membership.rendezvous(), tries, error));
  }

  private Connection tryOnce() throws IOException, InterruptedException {
    return switch (membership.rendezvous()) {
      case Rendezvous.At at ->
          tryAll(Addresses.toDial(at, membership.oneHost(), resolver), membership.job());
      case Rendezvous.InFile(var path) -> {
        Published published = Published.read(path);
        yield tryAll(published.addresses(), published.mark(membership.job()));
      }
    };
  }

  private Connection tryAll(List<InetSocketAddress> addresses, String job)
      throws IOException, InterruptedException {
    IOException last = new UnknownHostException("no address");
    for (InetSocketAddress address : addresses) {
      Addresses.checkReach(membership, address);
      SocketChannel channel = SocketChannel.open();
      boolean joined = false;
      try {
        channel.socket().connect(address, (int) soon(CONNECT).millis() + 1);
        if (channel.getLocalAddress().equals(channel.getRemoteAddress())) {
          // TCP joins a socket with itself if it happens to get the port that it dials.
          throw new ConnectException("nobody listens");
        }
        Connection connection = new Connection(channel, selector);
        introduce(connection, job);
        joined = true;
        return connection;
      } catch (ClosedByInterruptException e) {
        throw e;
      } catch (IOException e) {
        last = new IOException(address + ": " + text(e), e);
      } finally {
        if (!joined) {
          channel.close();
        }
      }
    }
    throw last;
  }

  /** Returns when the group is complete. */
  private void introduce(Connection connection, String job)
      throws IOException, InterruptedException {
    if (!(next(connection, soon(ANSWER))
        instanceof Message.Greeting(int version, byte[] challenge))) {
      throw new ProtocolException("no greeting; another program listens there");
    }
    if (version != Message.VERSION) {
      throw new GroupException(
          String.format(
              "rank 0 speaks version %d of the bootstrap, this rank version %d; start all ranks"
                  + " from the same build",
              version, Message.VERSION));
    }
    prove(connection, challenge);
    connection.trust();
    connection.send(
        new Message.Hello(
            Message.VERSION,
            membership.rank(),
            membership.size(),
            job,
            ProcessHandle.current().pid()));
    Message answer = next(connection, soon(ANSWER));
    while (true) {
      switch (answer) {
        case Message.Refusal(boolean again, String reason) when again ->
            throw new ConnectException("refused: " + reason);
        case Message.Refusal(_, String reason) -> throw new GroupException(reason);
        case Message.Broken(String reason) -> throw new GroupException(reason);
        case Message.Waiting(List<Integer> missing) when missing.isEmpty() -> {
          return;
        }
        case Message.Waiting(List<Integer> missing) -> answer = next(connection, deadline, missing);
        case null -> throw new SocketTimeoutException("no answer");
        default -> throw new ProtocolException("no answer to hello");
      }
    }
  }

  /** Returns when each side knows that the other has the secret, if there is one. */
  private void prove(Connection connection, byte[] challenge)
      throws IOException, InterruptedException {
    if (membership.secret().isEmpty()) {
      if (challenge.length == 0) {
        return;
      }
      throw new ConnectException("rank 0 asks for a secret, and this rank has none; " + ADVICE);
    }
    if (challenge.length == 0) {
      throw new ConnectException("this rank has a secret, and rank 0 asks for none; " + ADVICE);
    }
    Secret secret = membership.secret().get();
    byte[] mine = Secret.challenge();
    connection.send(new Message.Response(mine, secret.proof(Secret.Side.DIALER, challenge, mine)));
    switch (next(connection, soon(ANSWER))) {
      case Message.Confirmation(byte[] proof)
          when secret.accepts(proof, Secret.Side.LISTENER, challenge, mine) -> {}
      case Message.Confirmation _ ->
          throw new ConnectException("who listens there has another secret; " + ADVICE);
      case Message.Refusal _ -> throw new ConnectException("rank 0 has another secret; " + ADVICE);
      case null -> throw new SocketTimeoutException("no answer to a challenge");
      default -> throw new ProtocolException("no answer to a challenge");
    }
  }

  private Message next(Connection connection, Deadline deadline, List<Integer> missing)
      throws IOException, InterruptedException {
    Message message = next(connection, deadline);
    if (message == null) {
      throw new GroupException(Ranks.name(missing) + " did not come in time");
    }
    return message;
  }

  private @Nullable Message next(Connection connection, Deadline deadline)
      throws IOException, InterruptedException {
    while (true) {
      Message message = connection.poll();
      if (message != null || deadline.passed()) {
        return message;
      }
      selector.select(deadline.millis() + 1);
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      selector.selectedKeys().clear();
      connection.flush();
    }
  }

  private Deadline soon(Duration time) {
    return Deadline.in(time).earlier(deadline);
  }

  private static String text(IOException e) {
    String message = e.getMessage();
    return message == null ? e.getClass().getSimpleName() : message;
  }
}
