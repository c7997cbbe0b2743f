package org.verbena.bootstrap;

import java.net.URI;
import java.nio.file.Path;

/** Where the ranks of a group find rank 0. */
public sealed interface Rendezvous {
  /**
   * An address that is known beforehand. The name is resolved again at each try.
   *
   * @param host a name or an address; a link-local IPv6 address with its interface, as {@code
   *     fe80::1%eth0}
   * @param port from 1 to 65535
   */
  record At(String host, int port) implements Rendezvous {
    /** Checks host and port. */
    public At {
      if (host.isBlank()) {
        throw new IllegalArgumentException("a rendezvous needs a host before its port " + port);
      }
      if (port < 1 || port > 65535) {
        throw new IllegalArgumentException(
            "port "
                + port
                + " of the rendezvous is not in 1..65535; to have a free one chosen and published,"
                + " use file:/a/path");
      }
      if (host.regionMatches(true, 0, "fe80:", 0, 5) && host.indexOf('%') < 0) {
        throw new IllegalArgumentException(
            host + " is link-local and needs its interface, as " + host + "%eth0");
      }
    }

    @Override
    public String toString() {
      return host.indexOf(':') < 0 ? host + ":" + port : "[" + host + "]:" + port;
    }
  }

  /**
   * A file in which rank 0 publishes the port that it got and its addresses. It must be in a
   * directory that all ranks see, and is removed when the group is complete.
   */
  record InFile(Path path) implements Rendezvous {
    /** Makes the path absolute. */
    public InFile {
      path = path.toAbsolutePath();
    }

    @Override
    public String toString() {
      return "file:" + path;
    }
  }

  /**
   * Reads {@code host:port}, {@code [IPv6]:port} or {@code file:/path}; the opposite of {@code
   * toString}.
   *
   * @throws IllegalArgumentException if the text is none of these
   */
  static Rendezvous parse(String text) {
    if (text.startsWith("file:")) {
      String path = text.startsWith("file://") ? URI.create(text).getPath() : text.substring(5);
      if (path.isEmpty()) {
        throw new IllegalArgumentException("rendezvous '" + text + "' has no path");
      }
      return new InFile(Path.of(path));
    }
    int colon = text.lastIndexOf(':');
    String host = text.substring(0, Math.max(colon, 0));
    boolean bracketed = host.startsWith("[") && host.endsWith("]");
    if (colon < 0 || (!bracketed && host.indexOf(':') >= 0)) {
      throw new IllegalArgumentException(
          "rendezvous '" + text + "' is none of host:port, [IPv6]:port, file:/path");
    }
    try {
      int port = Integer.parseInt(text.substring(colon + 1));
      return new At(bracketed ? host.substring(1, host.length() - 1) : host, port);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("rendezvous '" + text + "' has no port number", e);
    }
  }
}
