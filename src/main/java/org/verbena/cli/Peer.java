package org.verbena.cli;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.jspecify.annotations.Nullable;

/** The TCP connection over which two commands tell each other their endpoints. */
final class Peer implements AutoCloseable {
  private static final int CONNECT_MILLIS = 10_000;
  private static final int MOST_BYTES = 4096;

  private final Socket socket;
  private final boolean server;
  private final DataInputStream in;
  private final DataOutputStream out;

  private Peer(Socket socket, boolean server) throws IOException {
    this.socket = socket;
    this.server = server;
    in = new DataInputStream(socket.getInputStream());
    out = new DataOutputStream(socket.getOutputStream());
    socket.setTcpNoDelay(true);
  }

  /** Connects to {@code host}, or waits to be connected to where it is null. */
  static Peer meet(@Nullable String host, int port) throws IOException {
    return host == null ? accept(port) : connect(host, port);
  }

  private static Peer accept(int port) throws IOException {
    try (ServerSocket listening = new ServerSocket()) {
      listening.setReuseAddress(true);
      listening.bind(new InetSocketAddress(port), 1);
      return new Peer(listening.accept(), true);
    }
  }

  @SuppressWarnings("AddressSelection") // as connect(2) after getaddrinfo(3): the first that is
  private static Peer connect(String host, int port) throws IOException {
    Socket socket = new Socket();
    try {
      socket.connect(new InetSocketAddress(host, port), CONNECT_MILLIS);
      return new Peer(socket, false);
    } catch (IOException e) {
      socket.close();
      throw new IOException(
          "no connection to " + host + " port " + port + ": " + e.getMessage(), e);
    }
  }

  boolean isServer() {
    return server;
  }

  /** Both send and both receive. */
  byte[] exchange(byte[] mine) throws IOException {
    out.writeShort(mine.length);
    out.write(mine);
    out.flush();
    int length = in.readUnsignedShort();
    if (length > MOST_BYTES) {
      throw new IOException("the peer speaks another protocol: a message of " + length + " bytes");
    }
    return in.readNBytes(length);
  }

  /** Returns when the peer has come here too; blocks without polling. */
  void await() {
    try {
      exchange(new byte[0]);
    } catch (IOException e) {
      throw new UncheckedIOException("the peer has gone", e);
    }
  }

  void write(byte[] bytes) throws IOException {
    out.write(bytes);
    out.flush();
  }

  /** Reads exactly so many bytes. */
  byte[] read(int length) throws IOException {
    byte[] bytes = new byte[length];
    in.readFully(bytes);
    return bytes;
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
