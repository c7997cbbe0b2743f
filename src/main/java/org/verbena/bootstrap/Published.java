package org.verbena.bootstrap;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;

/**
 * What rank 0 writes into the file of {@link Rendezvous.InFile}: a token that tells its listener
 * from any other that may be found at these addresses, and the addresses.
 */
record Published(String token, List<InetSocketAddress> addresses) {
  /** Writes the file for its owner alone, in one step: nobody sees half of it. */
  void write(Path path) throws IOException {
    List<String> lines = new ArrayList<>();
    lines.add(token);
    for (InetSocketAddress address : addresses) {
      String host = address.getAddress().getHostAddress();
      lines.add(new Rendezvous.At(host, address.getPort()).toString());
    }
    Path draft = path.resolveSibling(path.getFileName() + "." + token);
    try {
      Files.createFile(
          draft,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      Files.write(draft, lines, StandardOpenOption.WRITE);
      Files.move(draft, path, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(draft);
    }
  }

  /** Reads the file, which must belong to the user of this process. */
  static Published read(Path path) throws IOException {
    Object owner = Files.getAttribute(path, "unix:uid");
    Object user = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
    if (!owner.equals(user)) {
      throw new IOException(
          path + " belongs to user " + owner + ", but this process to user " + user);
    }
    List<String> lines = Files.readAllLines(path);
    if (lines.size() < 2) {
      throw new IOException(path + " is not the file of a rendezvous");
    }
    List<InetSocketAddress> addresses = new ArrayList<>();
    for (String line : lines.subList(1, lines.size())) {
      if (!(Rendezvous.parse(line) instanceof Rendezvous.At at)) {
        throw new IOException(path + " is not the file of a rendezvous: " + line);
      }
      addresses.add(new InetSocketAddress(InetAddress.getByName(at.host()), at.port()));
    }
    return new Published(lines.getFirst(), addresses);
  }

  /** The job's name, made unlike that of any other listener. */
  String mark(String job) {
    return job + "#" + token;
  }

  /** Whether the file is this one, and not what another rank 0 has published since. */
  boolean isIn(Path path) throws IOException {
    return Files.exists(path) && Files.readAllLines(path).contains(token);
  }
}
