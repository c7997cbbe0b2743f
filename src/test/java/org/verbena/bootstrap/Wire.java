package org.verbena.bootstrap;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;

/** A relay on loopback between a rank that dials and rank 0, which records every byte in order. */
final class Wire implements Closeable {
  /** Bytes that arrived in one piece. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  record Piece(boolean fromListener, byte[] bytes) {}

  private final ServerSocket server;
  private final int target;
  private final List<Piece> pieces = new ArrayList<>();

  /** Relays the connections that it gets to a port of this host. */
  Wire(int target) throws IOException {
    this.target = target;
    this.server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    Thread.ofVirtual().start(this::relay);
  }

  int port() {
    return server.getLocalPort();
  }

  /** What has passed so far, in the order in which it passed. */
  synchronized List<Piece> pieces() {
    return List.copyOf(pieces);
  }

  /** The bytes of one direction, or of both in their order, as characters. */
  static String text(List<Piece> pieces) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    pieces.forEach(piece -> all.writeBytes(piece.bytes()));
    return all.toString(ISO_8859_1);
  }

  static List<Piece> from(boolean listener, List<Piece> pieces) {
    return pieces.stream().filter(piece -> piece.fromListener() == listener).toList();
  }

  private void relay() {
    while (!server.isClosed()) {
      try {
        Socket dialer = server.accept();
        Socket listener = new Socket(InetAddress.getLoopbackAddress(), target);
        Thread.ofVirtual().start(() -> pump(false, dialer, listener));
        Thread.ofVirtual().start(() -> pump(true, listener, dialer));
      } catch (IOException _) {
        // nobody listens, or the test is over
      }
    }
  }

  private void pump(boolean fromListener, Socket from, Socket to) {
    byte[] buffer = new byte[8192];
    try (from;
        to) {
      InputStream in = from.getInputStream();
      OutputStream out = to.getOutputStream();
      for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
        byte[] bytes = new byte[count];
        System.arraycopy(buffer, 0, bytes, 0, count);
        synchronized (this) {
          pieces.add(new Piece(fromListener, bytes)); // before anybody can answer it
        }
        out.write(bytes);
      }
    } catch (IOException _) {
      // one of the two has gone
    }
  }

  @Override
  public void close() throws IOException {
    server.close();
  }
}
