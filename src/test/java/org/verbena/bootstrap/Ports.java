package org.verbena.bootstrap;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** Ports for tests in which the port must be known before anybody listens. */
final class Ports {
  private Ports() {}

  /** A free port below the range from which Linux takes ports for outgoing connections. */
  static int free() throws IOException {
    while (true) {
      int port = ThreadLocalRandom.current().nextInt(20_000, 30_000);
      try (ServerSocket _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
        return port;
      } catch (BindException _) {
        // taken: the next one
      }
    }
  }
}
