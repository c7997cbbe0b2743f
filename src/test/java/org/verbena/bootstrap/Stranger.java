package org.verbena.bootstrap;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;

/** A connection to a listener on loopback that may say anything. */
final class Stranger implements Closeable {
  private static final int TIMEOUT_MILLIS = 20_000;

  private final Socket socket;

  private Stranger(Socket socket) {
    this.socket = socket;
  }

  /** Connects, as soon as somebody listens. */
  static Stranger connect(int port) throws IOException, InterruptedException {
    Deadline deadline = Deadline.in(Duration.ofMillis(TIMEOUT_MILLIS));
    Backoff backoff = new Backoff();
    while (true) {
      Socket socket = new Socket();
      try {
        socket.setSoTimeout(TIMEOUT_MILLIS);
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        return new Stranger(socket);
      } catch (ConnectException e) {
        socket.close();
        if (!backoff.pause(deadline)) {
          throw e;
        }
      }
    }
  }

  /** Connects and says hello. */
  static Stranger introduced(int port, Message.Hello hello) throws Exception {
    Stranger stranger = connect(port);
    stranger.read(); // the greeting
    stranger.write(Message.encode(hello).array());
    return stranger;
  }

  void write(byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
  }

  /** The next message; throws EOFException once the other side has closed. */
  Message read() throws IOException {
    DataInputStream in = new DataInputStream(socket.getInputStream());
    return Message.decode(in.readNBytes(in.readInt()));
  }

  /** All that the other side says until it ends the connection; fails if it does not. */
  byte[] readToEnd() throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    try {
      for (int b = socket.getInputStream().read(); b >= 0; b = socket.getInputStream().read()) {
        all.write(b);
      }
    } catch (SocketException _) {
      // reset because it had not read all
    }
    return all.toByteArray();
  }

  /** Reads until the other side ends the connection; fails if it does not. */
  void awaitEnd() throws IOException {
    try {
      while (true) {
        read();
      }
    } catch (EOFException | SocketException _) {
      // closed, or reset because it had not read all
    }
  }

  /** Ends as a process does that is killed. */
  void end() throws IOException {
    socket.close();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
