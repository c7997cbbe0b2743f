package org.verbena.bootstrap;

import java.io.Closeable;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Rank 0 while the group forms: it lets members in and keeps strangers out. Whoever connects has a
 * few seconds to prove that it belongs, if the group has a secret, and to say who it is. It is
 * checked before anything changes, and takes no place by being refused. A member whose connection
 * ends before the group is complete gives its place back.
 */
final class Listener implements Closeable {
  private static final System.Logger LOG = System.getLogger(Listener.class.getName());
  private static final Duration INTRODUCTION = Duration.ofSeconds(5);

  /** More at once, and the eldest is sent away: a member says who it is at once. */
  static final int MAX_STRANGERS = 256;

  private static final int TOKEN_BYTES = 16;
  private static final int MAX_REFUSALS_TOLD = 8;

  private final Membership membership;
  private final Selector selector;
  private final ServerSocketChannel channel;
  private final @Nullable Published published;
  private final String job;
  private final SequencedMap<Connection, Newcomer> strangers = new LinkedHashMap<>();
  private final @Nullable Connection[] members;
  private final long[] processes;
  private final Set<String> refusals = new LinkedHashSet<>();
  private int unproven;
  private String lastUnproven = "";

  /** Who has connected and not said who it is, by when it must, and what it was asked. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Newcomer(Deadline deadline, byte[] challenge, boolean proven) {}

  /** Listens, and publishes where if the rendezvous is a file. */
  Listener(Membership membership, Selector selector, Deadline deadline)
      throws IOException, InterruptedException {
    this.membership = membership;
    this.selector = selector;
    this.members = new Connection[membership.size()];
    this.processes = new long[membership.size()];
    this.channel = bind(membership, deadline);
    try {
      channel.configureBlocking(false);
      channel.register(selector, SelectionKey.OP_ACCEPT);
      this.published = publish();
    } catch (IOException e) {
      channel.close();
      throw e;
    }
    this.job = published == null ? membership.job() : published.mark(membership.job());
    LOG.log(System.Logger.Level.DEBUG, "rank 0 listens on {0}", channel.getLocalAddress());
  }

  private static ServerSocketChannel bind(Membership membership, Deadline deadline)
      throws IOException, InterruptedException {
    InetSocketAddress address = Addresses.toListen(membership);
    Addresses.checkReach(membership, address);
    Backoff backoff = new Backoff();
    while (true) {
      ServerSocketChannel channel = ServerSocketChannel.open();
      try {
        return channel.bind(address, Math.max(128, membership.size()));
      } catch (BindException e) {
        channel.close();
        // What holds the port may be the last run, about to end.
        if (!backoff.pause(deadline)) {
          throw new GroupException(
              String.format(
                  "rank 0 cannot listen on %s: %s; set MASTER_PORT to another port, or"
                      + " VERBENA_RENDEZVOUS to file:/path to have a free one published",
                  address, e.getMessage()),
              e);
        }
      }
    }
  }

  private @Nullable Published publish() throws IOException {
    if (!(membership.rendezvous() instanceof Rendezvous.InFile file)) {
      return null;
    }
    byte[] token = new byte[TOKEN_BYTES];
    new SecureRandom().nextBytes(token);
    InetSocketAddress address = (InetSocketAddress) channel.getLocalAddress();
    Published made = new Published(HexFormat.of().formatHex(token), Addresses.toPublish(address));
    made.write(file.path());
    return made;
  }

  /** Waits until all are here; the connections are in rank order, without one to rank 0 itself. */
  List<Connection> admit(Deadline deadline) throws IOException {
    while (!missing().isEmpty()) {
      if (deadline.passed()) {
        throw tell(late());
      }
      selector.select(Math.max(1, nextExpiry(deadline).millis()));
      if (Thread.interrupted()) {
        throw interrupted();
      }
      for (SelectionKey key : selector.selectedKeys()) {
        if (key.attachment() instanceof Connection connection) {
          serve(connection);
        } else {
          accept();
        }
      }
      selector.selectedKeys().clear();
      expire();
    }
    List<Connection> all = new ArrayList<>();
    for (Connection member : members) {
      if (member != null) {
        all.add(member);
      }
    }
    return all;
  }

  private void accept() throws IOException {
    for (SocketChannel found = channel.accept(); found != null; found = channel.accept()) {
      try {
        Connection stranger = new Connection(found, selector);
        boolean proven = membership.secret().isEmpty();
        byte[] challenge = proven ? new byte[0] : Secret.challenge();
        strangers.put(stranger, new Newcomer(Deadline.in(INTRODUCTION), challenge, proven));
        stranger.send(new Message.Greeting(Message.VERSION, challenge));
        if (strangers.size() > MAX_STRANGERS) {
          drop(strangers.firstEntry().getKey());
        }
      } catch (IOException _) {
        found.close(); // gone already, as port scanners are
      }
    }
  }

  private void serve(Connection connection) {
    try {
      connection.flush();
      Message message = connection.poll();
      Newcomer newcomer = strangers.get(connection);
      switch (message) {
        case null -> {}
        case Message.Response response when newcomer != null && !newcomer.proven() ->
            check(connection, newcomer, response);
        case Message.Hello hello when newcomer != null && newcomer.proven() ->
            receive(connection, hello);
        default -> drop(connection); // members have nothing to say yet, strangers nothing else
      }
    } catch (IOException _) {
      drop(connection);
    }
  }

  private void check(Connection stranger, Newcomer newcomer, Message.Response response)
      throws IOException {
    Secret secret = membership.secret().orElseThrow();
    byte[] mine = newcomer.challenge();
    byte[] theirs = response.challenge();
    if (!secret.accepts(response.proof(), Secret.Side.DIALER, mine, theirs)) {
      stranger.send(new Message.Refusal(true, "")); // a reason would tell something to a stranger
      drop(stranger);
      return;
    }
    strangers.put(stranger, new Newcomer(newcomer.deadline(), mine, true));
    byte[] proof = secret.proof(Secret.Side.LISTENER, mine, theirs);
    stranger.send(new Message.Confirmation(proof));
  }

  private void receive(Connection stranger, Message.Hello hello) throws IOException {
    Message.@Nullable Refusal refusal = judge(hello);
    if (refusal != null) {
      if (refusals.size() < MAX_REFUSALS_TOLD) {
        refusals.add(refusal.reason());
      }
      stranger.send(refusal);
      drop(stranger);
      return;
    }
    strangers.remove(stranger);
    stranger.trust();
    members[hello.rank()] = stranger;
    processes[hello.rank()] = hello.process();
    callRoll();
  }

  private Message.@Nullable Refusal judge(Message.Hello hello) {
    String who = "process " + hello.process() + ", which says it is rank " + hello.rank();
    if (hello.version() != Message.VERSION) {
      return new Message.Refusal(
          false,
          String.format(
              "%s, speaks version %d of the bootstrap, rank 0 version %d; start all ranks from the"
                  + " same build",
              who, hello.version(), Message.VERSION));
    }
    if (!hello.job().equals(job)) {
      // The other may be early, and the rank 0 of its own run about to take this one's place.
      return new Message.Refusal(
          true, String.format("%s, is of job '%s', rank 0 of job '%s'", who, hello.job(), job));
    }
    if (hello.size() != membership.size()) {
      return new Message.Refusal(
          false,
          String.format(
              "%s of %d, but rank 0 has a group of %d; start all ranks with the same size",
              who, hello.size(), membership.size()));
    }
    if (hello.rank() < 1 || hello.rank() >= membership.size()) {
      return new Message.Refusal(
          false,
          String.format("%s, but only ranks 1..%d are awaited here", who, membership.size() - 1));
    }
    Connection holder = members[hello.rank()];
    if (holder != null) {
      return new Message.Refusal(
          false,
          String.format(
              "%s, comes second: that place is held by process %d at %s",
              who, processes[hello.rank()], holder.peer()));
    }
    return null;
  }

  /** Tells all members whom they wait for. */
  private void callRoll() {
    Message.Waiting roll = new Message.Waiting(missing());
    for (Connection member : members) {
      if (member != null) {
        try {
          member.send(roll);
        } catch (IOException _) {
          // its end is seen when it is read
        }
      }
    }
  }

  private void drop(Connection connection) {
    connection.close();
    Newcomer newcomer = strangers.remove(connection);
    if (newcomer != null && !newcomer.proven()) {
      unproven++;
      lastUnproven = connection.peer();
    }
    for (int rank = 0; rank < members.length; rank++) {
      if (members[rank] == connection) {
        members[rank] = null;
        callRoll();
      }
    }
  }

  private void expire() {
    strangers.entrySet().stream()
        .filter(entry -> entry.getValue().deadline().passed())
        .map(Map.Entry::getKey)
        .toList()
        .forEach(this::drop);
  }

  private Deadline nextExpiry(Deadline deadline) {
    return strangers.values().stream().map(Newcomer::deadline).reduce(deadline, Deadline::earlier);
  }

  private List<Integer> missing() {
    return Ranks.missing(members).stream().filter(rank -> rank != 0).toList();
  }

  private String late() throws IOException {
    StringBuilder reason = new StringBuilder(Ranks.name(missing()) + " did not come in time");
    if (!refusals.isEmpty()) {
      reason.append("; refused: ").append(String.join("; ", refusals));
    }
    if (unproven > 0) {
      reason.append(
          String.format(
              "; %d connections have not proven that they belong, the last from %s; if that is a"
                  + " rank, %s",
              unproven, lastUnproven, Secret.ADVICE));
    }
    if (published != null
        && membership.rendezvous() instanceof Rendezvous.InFile(var path)
        && !published.isIn(path)) {
      reason.append("; another rank 0 has put itself in place of this one in ").append(path);
    }
    return reason.toString();
  }

  private GroupException tell(String reason) {
    for (Connection member : members) {
      if (member != null) {
        try {
          member.send(new Message.Broken(reason));
        } catch (IOException _) {
          // it need not be told any more
        }
        member.close();
      }
    }
    return new GroupException(reason);
  }

  private GroupException interrupted() {
    // Interrupted channels close instead of sending, so the state is put back only afterwards.
    GroupException failure = tell("rank 0 was interrupted");
    Thread.currentThread().interrupt();
    return failure;
  }

  /** Listens no more and lets strangers go; members stay connected. */
  @Override
  public void close() throws IOException {
    channel.close();
    strangers.keySet().forEach(Connection::close);
    if (published != null && membership.rendezvous() instanceof Rendezvous.InFile(var path)) {
      if (published.isIn(path)) {
        Files.deleteIfExists(path);
      }
    }
  }
}
