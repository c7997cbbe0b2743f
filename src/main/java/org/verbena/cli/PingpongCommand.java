package org.verbena.cli;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.verbena.verbs.Access;
import org.verbena.verbs.CompletionQueue;
import org.verbena.verbs.Completions;
import org.verbena.verbs.Context;
import org.verbena.verbs.Endpoint;
import org.verbena.verbs.MemoryRegion;
import org.verbena.verbs.Mtu;
import org.verbena.verbs.PathChoice;
import org.verbena.verbs.ProtectionDomain;
import org.verbena.verbs.QueuePair;
import org.verbena.verbs.QueuePairOptions;
import org.verbena.verbs.RdmaPath;
import org.verbena.verbs.ReceiveRequests;
import org.verbena.verbs.SendRequests;
import org.verbena.verbs.VerbsException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code verbena pingpong}: messages to and fro; either end may be {@code ibv_rc_pingpong}. */
@Command(
    name = "pingpong",
    mixinStandardHelpOptions = true,
    description = {
      "Sends messages to and fro over a reliable connection.",
      "Speaks the protocol of ibv_rc_pingpong, as server without SERVER and else as client; either"
          + " end may be that program. Give both ends the same -s, -n and -m."
    })
final class PingpongCommand implements Callable<Integer> {
  private static final byte[] DONE = "done\0".getBytes(StandardCharsets.US_ASCII);

  private static final int FILLING = 0x7b;

  @Mixin private RdmaOptions rdma;
  @Spec private CommandSpec spec;

  @Parameters(
      arity = "0..1",
      paramLabel = "SERVER",
      description = "The server to connect to; without it, this is the server.")
  private @Nullable String host;

  @Option(
      names = {"-p", "--port"},
      paramLabel = "PORT",
      description = "TCP port of the server; ${DEFAULT-VALUE} unless given.")
  private int port = 18515;

  @Option(
      names = {"-s", "--size"},
      paramLabel = "BYTES",
      description = "Bytes of a message; ${DEFAULT-VALUE} unless given.")
  private int size = 4096;

  @Option(
      names = {"-n", "--iters"},
      paramLabel = "N",
      description = "Messages each way; ${DEFAULT-VALUE} unless given.")
  private int iterations = 1000;

  @Option(
      names = {"-m", "--mtu"},
      paramLabel = "BYTES",
      description = "Path MTU, lowered to what the port takes; ${DEFAULT-VALUE} unless given.")
  private int mtu = 1024;

  @Option(
      names = {"-r", "--rx-depth"},
      paramLabel = "N",
      description = "Receives posted at a time; ${DEFAULT-VALUE} unless given.")
  private int receiveDepth = 500;

  @Option(
      names = {"-e", "--events"},
      description = "Sleep until something completes, instead of polling.")
  private boolean events;

  @Override
  public Integer call() throws IOException {
    if (size < 1 || iterations < 1 || receiveDepth < 1) {
      throw new ParameterException(spec.commandLine(), "-s, -n and -r must be 1 or more.");
    }
    Mtu wanted;
    try {
      wanted = Mtu.ofBytes(mtu);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), "-m: " + e.getMessage(), e);
    }
    PathChoice choice;
    try {
      choice = rdma.open();
    } catch (VerbsException e) {
      System.err.println("verbena: " + e.getMessage());
      return ExitCode.FAILED;
    }
    try (Context context = choice.context()) {
      run(context, choice.path(), wanted);
      return ExitCode.OK;
    } catch (VerbsException | IOException | IllegalArgumentException e) {
      System.err.println("verbena: " + e.getMessage());
      return ExitCode.FAILED;
    }
  }

  private void run(Context context, RdmaPath path, Mtu wanted) throws IOException {
    ProtectionDomain domain = context.createProtectionDomain();
    MemoryRegion buffer = domain.allocate(size, Access.LOCAL_WRITE);
    buffer.memory().fill((byte) FILLING);
    CompletionQueue queue =
        context.createCompletionQueue(receiveDepth + 1, context.createCompletionChannel());
    QueuePair pair =
        domain.createQueuePair(
            path,
            QueuePairOptions.DEFAULTS
                .withDepths(1, receiveDepth)
                .withReadDepth(1)
                .withTraffic(rdma.traffic()),
            queue,
            queue);
    pair.initialize();
    ReceiveRequests one = pair.receiveRequests(1, 1).receive(0).into(buffer, 0, size);
    replenish(pair, one);
    PingpongAddress local = PingpongAddress.of(pair.endpoint());
    System.out.println("  local address:  " + local);
    connect(pair, local, wanted);
    SendRequests send = pair.sendRequests(1, 1).send().from(buffer, 0, size).signaled();
    if (size <= pair.inlineBytes()) {
      send.inline();
    }
    exchange(pair, queue, send, one);
  }

  private void connect(QueuePair pair, PingpongAddress local, Mtu wanted) throws IOException {
    try (Peer peer = Peer.meet(host, port)) {
      PingpongAddress remote;
      if (peer.isServer()) {
        remote = PingpongAddress.decode(peer.read(PingpongAddress.BYTES));
        connect(pair, endpoint(pair, remote, wanted));
        peer.write(local.encode());
        requireDone(peer.read(DONE.length));
      } else {
        peer.write(local.encode());
        remote = PingpongAddress.decode(peer.read(PingpongAddress.BYTES));
        peer.write(DONE);
        connect(pair, endpoint(pair, remote, wanted));
      }
      System.out.println("  remote address: " + remote);
    }
  }

  private static void requireDone(byte[] answer) throws IOException {
    if (!Arrays.equals(answer, DONE)) {
      throw new IOException("the client did not say it was done");
    }
  }

  /** What the peer does not tell, such as the MTU, both ends must be given alike. */
  private static Endpoint endpoint(QueuePair pair, PingpongAddress remote, Mtu mtu) {
    return new Endpoint(
        remote.queuePair(),
        remote.packetSequence(),
        remote.gid(),
        pair.path().gidType(),
        remote.lid(),
        mtu,
        1);
  }

  private static void connect(QueuePair pair, Endpoint remote) {
    pair.readyToReceive(remote);
    pair.readyToSend(remote);
  }

  private static void replenish(QueuePair pair, ReceiveRequests one) {
    while (pair.freeReceives() > 0 && pair.post(one)) {
      // one after the other, as all go into the same memory
    }
  }

  private void exchange(
      QueuePair pair, CompletionQueue queue, SendRequests send, ReceiveRequests one)
      throws IOException {
    Completions found = new Completions(2);
    boolean sending = host != null;
    boolean receiving = true;
    int sent = 0;
    int received = 0;
    if (sending) {
      pair.post(send);
    }
    long start = System.nanoTime();
    while (sent < iterations || received < iterations) {
      await(queue, found);
      for (int i = 0; i < found.size(); i++) {
        found.requireSuccess(i);
        if (found.isReceive(i)) {
          received++;
          receiving = false;
          if (pair.freeReceives() >= receiveDepth - 1) {
            replenish(pair, one);
          }
        } else {
          sent++;
          sending = false;
        }
        if (!sending && !receiving && sent < iterations) {
          pair.post(send);
          sending = true;
          receiving = true;
        }
      }
    }
    report((System.nanoTime() - start) / 1000.0);
  }

  private void await(CompletionQueue queue, Completions found) throws IOException {
    if (events) {
      try {
        if (queue.await(found, Patience.LIMIT) == 0) {
          throw Patience.exhausted("message");
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted while waiting for a message");
      }
    } else {
      Patience patience = new Patience();
      for (long polls = 1; queue.poll(found) == 0; polls++) {
        patience.check(polls, "message");
      }
    }
  }

  private void report(double micros) {
    long bytes = 2L * size * iterations;
    System.out.printf(
        Locale.ROOT,
        "%d bytes in %.2f seconds = %.2f Mbit/sec%n",
        bytes,
        micros / 1e6,
        bytes * 8.0 / micros);
    System.out.printf(
        Locale.ROOT,
        "%d iters in %.2f seconds = %.2f usec/iter%n",
        iterations,
        micros / 1e6,
        micros / iterations);
  }
}
