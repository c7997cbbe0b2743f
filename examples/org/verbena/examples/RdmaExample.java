package org.verbena.examples;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import org.verbena.verbs.Access;
import org.verbena.verbs.CompletionQueue;
import org.verbena.verbs.Completions;
import org.verbena.verbs.Context;
import org.verbena.verbs.Endpoint;
import org.verbena.verbs.MemoryRegion;
import org.verbena.verbs.PathChoice;
import org.verbena.verbs.PathSelector;
import org.verbena.verbs.ProtectionDomain;
import org.verbena.verbs.QueuePair;
import org.verbena.verbs.QueuePairOptions;
import org.verbena.verbs.RemoteRegion;
import org.verbena.verbs.SendRequests;
import org.verbena.verbs.Verbs;

/** A write, a read and an atomic to the memory of another host: the server, which looks on. */
public final class RdmaExample {
  private static final int PORT = 18517;

  public static void main(String[] args) throws Exception {
    boolean server = args.length == 0;
    PathChoice choice = Verbs.open(PathSelector.ANY);
    try (Context context = choice.context();
        Socket peer = server ? accept() : new Socket(args[0], PORT)) {
      ProtectionDomain domain = context.createProtectionDomain();
      MemoryRegion memory =
          domain.allocate(64, Access.REMOTE_WRITE, Access.REMOTE_READ, Access.REMOTE_ATOMIC);
      CompletionQueue queue = context.createCompletionQueue(256, context.createCompletionChannel());
      QueuePair pair =
          domain.createQueuePair(choice.path(), QueuePairOptions.DEFAULTS, queue, queue);
      memory.memory().set(JAVA_LONG, server ? 8 : 0, server ? 42 : 7);

      ByteBuffer mine = ByteBuffer.allocate(Endpoint.BYTES + RemoteRegion.BYTES);
      mine.put(pair.endpoint().encode()).put(memory.remote().encode());
      ByteBuffer theirs = ByteBuffer.wrap(exchange(peer, mine.array()));
      pair.connect(Endpoint.decode(theirs));
      RemoteRegion remote = RemoteRegion.decode(theirs);
      exchange(peer, new byte[1]); // both are connected

      if (!server) {
        SendRequests chain = pair.sendRequests(3, 1);
        chain.write(remote, 0).from(memory, 0, 8);
        chain.read(remote, 8).into(memory, 8, 8);
        chain.fetchAndAdd(remote, 16, 5, memory, 16).signaled();
        pair.post(chain);
        Completions found = new Completions(1);
        queue.await(found, Duration.ofSeconds(10));
        found.requireSuccess(0);
      }
      exchange(peer, new byte[1]); // all is done
      for (long offset = 0; offset < 24; offset += 8) {
        System.out.println(memory.memory().get(JAVA_LONG, offset));
      }
    }
  }

  private static Socket accept() throws IOException {
    try (ServerSocket listening = new ServerSocket(PORT)) {
      return listening.accept();
    }
  }

  private static byte[] exchange(Socket peer, byte[] mine) throws IOException {
    peer.getOutputStream().write(mine);
    byte[] theirs = new byte[mine.length];
    new DataInputStream(peer.getInputStream()).readFully(theirs);
    return theirs;
  }
}
