package org.verbena.verbs;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** One message from a server to a client, which may be there first. */
final class Meeting {
  private Meeting() {}

  /** Gives {@code bytes} to who connects. */
  static void accept(int port, byte[] bytes) throws IOException {
    try (ServerSocket server = new ServerSocket()) {
      server.setReuseAddress(true);
      server.bind(new InetSocketAddress(port));
      server.setSoTimeout((int) End.PATIENCE.toMillis());
      try (Socket client = server.accept()) {
        DataOutputStream out = new DataOutputStream(client.getOutputStream());
        out.writeInt(bytes.length);
        out.write(bytes);
      }
    }
  }

  /** Takes what the server gives. */
  @SuppressWarnings("AddressSelection") // a node has one address
  static byte[] connect(String host, int port) throws IOException {
    long deadline = System.nanoTime() + End.PATIENCE.toNanos();
    while (true) {
      try (Socket socket = new Socket()) {
        socket.connect(new InetSocketAddress(host, port), 5000);
        socket.setSoTimeout((int) End.PATIENCE.toMillis());
        DataInputStream in = new DataInputStream(socket.getInputStream());
        return in.readNBytes(in.readInt());
      } catch (IOException e) {
        if (System.nanoTime() > deadline) {
          throw e;
        }
      }
    }
  }
}
