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
import org.verbena.verbs.MemoryRegion;
import org.verbena.verbs.PathChoice;
import org.verbena.verbs.ProtectionDomain;
import org.verbena.verbs.QueuePair;
import org.verbena.verbs.RdmaPath;
import org.verbena.verbs.ReceiveRequests;
import org.verbena.verbs.SendRequests;
import org.verbena.verbs.Traffic;
import org.verbena.verbs.VerbsException;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Messages to and fro; either end may be a program of rdma-core. */
abstract class Pingpong implements Callable<Integer> {
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
  private int size;

  @Option(
      names = {"-n", "--iters"},
      paramLabel = "N",
      description = "Messages each way; ${DEFAULT-VALUE} unless given.")
  private int iterations = 1000;

  @Option(
      names = {"-r", "--rx-depth"},
      paramLabel = "N",
      description = "Receives posted at a time; ${DEFAULT-VALUE} unless given.")
  private int receiveDepth = 500;

  @Option(
      names = {"-e", "--events"},
      description = "Sleep until something completes, instead of polling.")
  private boolean events;

  /**
   * @param size bytes of a message unless given
   */
  Pingpong(int size) {
    this.size = size;
  }

  /** What each message is preceded by where it is received. */
  abstract int routeBytes();

  /** A queue pair that takes receives. */
  abstract QueuePair create(ProtectionDomain domain, RdmaPath path, CompletionQueue queue);

  /** Makes {@code pair} ready to send to {@code remote}. */
  abstract void connect(ProtectionDomain domain, QueuePair pair, PingpongAddress remote);

  /** A message without its payload. */
  abstract SendRequests message(SendRequests chain);

  /** Refuses options that cannot be. */
  void validate() {
    require(size >= 1 && iterations >= 1 && receiveDepth >= 1, "-s, -n and -r must be 1 or more.");
  }

  final void require(boolean condition, String otherwise) {
    if (!condition) {
      throw new ParameterException(spec.commandLine(), otherwise);
    }
  }

  final int size() {
    return size;
  }

  final int receiveDepth() {
    return receiveDepth;
  }

  final Traffic traffic() {
    return rdma.traffic();
  }

  @Override
  public final Integer call() throws IOException {
    validate();
    PathChoice choice;
    try {
      choice = rdma.open();
    } catch (VerbsException e) {
      System.err.println("verbena: " + e.getMessage());
      return ExitCode.FAILED;
    }
    try (Context context = choice.context()) {
      run(context, choice.path());
      return ExitCode.OK;
    } catch (VerbsException | IOException | IllegalArgumentException e) {
      System.err.println("verbena: " + e.getMessage());
      return ExitCode.FAILED;
    }
  }

  private void run(Context context, RdmaPath path) throws IOException {
    ProtectionDomain domain = context.createProtectionDomain();
    int bytes = routeBytes() + size;
    MemoryRegion buffer = domain.allocate(bytes, Access.LOCAL_WRITE);
    buffer.memory().fill((byte) FILLING);
    CompletionQueue queue =
        context.createCompletionQueue(receiveDepth + 1, context.createCompletionChannel());
    QueuePair pair = create(domain, path, queue);
    ReceiveRequests one = pair.receiveRequests(1, 1).receive(0).into(buffer, 0, bytes);
    replenish(pair, one);
    PingpongAddress local = PingpongAddress.of(pair.endpoint());
    System.out.println("  local address:  " + local);
    meet(domain, pair, local);
    SendRequests send =
        message(pair.sendRequests(1, 1)).from(buffer, routeBytes(), size).signaled();
    if (size <= pair.inlineBytes()) {
      send.inline();
    }
    exchange(pair, queue, send, one);
  }

  private void meet(ProtectionDomain domain, QueuePair pair, PingpongAddress local)
      throws IOException {
    try (Peer peer = Peer.meet(host, port)) {
      PingpongAddress remote;
      if (peer.isServer()) {
        remote = PingpongAddress.decode(peer.read(PingpongAddress.BYTES));
        connect(domain, pair, remote);
        peer.write(local.encode());
        requireDone(peer.read(DONE.length));
      } else {
        peer.write(local.encode());
        remote = PingpongAddress.decode(peer.read(PingpongAddress.BYTES));
        peer.write(DONE);
        connect(domain, pair, remote);
      }
      System.out.println("  remote address: " + remote);
    }
  }

  private static void requireDone(byte[] answer) throws IOException {
    if (!Arrays.equals(answer, DONE)) {
      throw new IOException("the client did not say it was done");
    }
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
