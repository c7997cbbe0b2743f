package org.verbena.verbs;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** One end of a connection between two nodes, with a region that the peer may use in every way. */
final class End implements AutoCloseable {
  static final Duration PATIENCE = Duration.ofSeconds(90);

  final Context context;
  final RdmaPath path;
  final ProtectionDomain domain;
  final CompletionChannel channel;
  final CompletionQueue queue;
  final QueuePair pair;
  final MemoryRegion region;
  final Completions found = new Completions(64);

  private @Nullable Socket socket;
  private @Nullable RemoteRegion remote;

  End(QueuePairOptions options, long bytes) {
    PathChoice choice = Verbs.open(PathSelector.ANY);
    context = choice.context();
    path = choice.path();
    domain = context.createProtectionDomain();
    channel = context.createCompletionChannel();
    queue = context.createCompletionQueue(options.sendDepth() + options.receiveDepth(), channel);
    pair = domain.createQueuePair(path, options, queue, queue);
    region = domain.allocate(bytes, Access.REMOTE_WRITE, Access.REMOTE_READ, Access.REMOTE_ATOMIC);
  }

  /** Connects two ends of one process. */
  static void join(End near, End far) {
    near.pair.connect(far.pair.endpoint());
    far.pair.connect(near.pair.endpoint());
    near.remote = far.region.remote();
    far.remote = near.region.remote();
  }

  /** Waits for a client and connects with it. */
  End accept(int port) throws IOException {
    try (ServerSocket server = new ServerSocket()) {
      server.setReuseAddress(true);
      server.bind(new InetSocketAddress(port));
      server.setSoTimeout((int) PATIENCE.toMillis());
      return connect(server.accept());
    }
  }

  /** Connects with the server, which may be yet to come. */
  @SuppressWarnings("AddressSelection") // a node has one address
  End connect(String host, int port) throws IOException {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (true) {
      Socket connecting = new Socket();
      try {
        connecting.connect(new InetSocketAddress(host, port), 5000);
        return connect(connecting);
      } catch (IOException e) {
        connecting.close();
        if (System.nanoTime() > deadline) {
          throw e;
        }
        // A server that is yet to come needs the processor.
        LockSupport.parkNanos(100_000_000);
      }
    }
  }

  private End connect(Socket connected) throws IOException {
    socket = connected;
    connected.setSoTimeout((int) PATIENCE.toMillis());
    pair.initialize();
    Endpoint peer = Endpoint.decode(ByteBuffer.wrap(exchange(pair.endpoint().encode())));
    remote = RemoteRegion.decode(ByteBuffer.wrap(exchange(region.remote().encode())));
    pair.readyToReceive(peer);
    pair.readyToSend(peer);
    meet();
    return this;
  }

  private Socket socket() {
    if (socket == null) {
      throw new IllegalStateException("not connected");
    }
    return socket;
  }

  RemoteRegion remote() {
    if (remote == null) {
      throw new IllegalStateException("not connected");
    }
    return remote;
  }

  /** Gives the peer these bytes for its own. */
  byte[] exchange(byte[] mine) throws IOException {
    DataOutputStream out = new DataOutputStream(socket().getOutputStream());
    out.writeInt(mine.length);
    out.write(mine);
    DataInputStream in = new DataInputStream(socket().getInputStream());
    byte[] theirs = new byte[in.readInt()];
    in.readFully(theirs);
    return theirs;
  }

  /** Returns when the peer is here too. */
  void meet() throws IOException {
    exchange(new byte[0]);
  }

  /** Polls until something completes. */
  int await() {
    await("a completion", () -> queue.poll(found) > 0);
    return found.size();
  }

  static void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("no " + what + " within " + PATIENCE);
      }
    }
  }

  /** Posts, polling while there is no room. Fails on errors. */
  void post(SendRequests chain) {
    await(
        "slot",
        () -> {
          if (pair.post(chain)) {
            return true;
          }
          int size = queue.poll(found);
          for (int i = 0; i < size; i++) {
            found.requireSuccess(i);
          }
          return false;
        });
  }

  /** Posts a chain whose last request is signaled, and waits for it. */
  void run(SendRequests chain) {
    post(chain);
    await();
    found.requireSuccess(0);
  }

  void set(long offset, long value) {
    region.memory().set(ValueLayout.JAVA_LONG, offset, value);
  }

  long get(long offset) {
    return region.memory().get(ValueLayout.JAVA_LONG, offset);
  }

  @Override
  public void close() throws IOException {
    try {
      context.close();
    } finally {
      if (socket != null) {
        socket.close();
      }
    }
  }
}
