package org.verbena.transport.shm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import org.verbena.bootstrap.Group;
import org.verbena.bootstrap.GroupException;
import org.verbena.transport.Transport;
import org.verbena.transport.TransportProvider;

/**
 * Opens windows of shared memory. Each rank creates its file and tells its path, opens the others'
 * files, and shows that it did by telling the secrets that it found in them. Then the names go.
 */
record ShmProvider(Path directory) implements TransportProvider {
  private static final SecureRandom RANDOM = new SecureRandom();

  @Override
  public String name() {
    return "shm";
  }

  @Override
  public boolean isDirect() {
    return true;
  }

  @Override
  public Transport open(Group group, long windowBytes) {
    long bytes = Math.addExact(ControlBlock.bytes(group.size()), windowBytes);
    long secret = RANDOM.nextLong();
    List<WindowFile> files = new ArrayList<>();
    boolean opened = false;
    try {
      List<byte[]> paths = group.allGatherResults("shm window", () -> create(files, bytes, secret));
      List<byte[]> proofs =
          group.allGatherResults("shm proof", () -> openOthers(group, files, paths, bytes));
      // All have opened all by now.
      files.getFirst().removeName();
      WindowFile own = files.removeFirst();
      files.add(group.rank(), own);
      group.allGatherResults("shm confirmation", () -> confirm(group, proofs, secret));
      opened = true;
      return new ShmTransport(group.rank(), files);
    } catch (IOException e) {
      throw new GroupException(
          "rank %d: could not remove the name of its window: %s".formatted(group.rank(), e), e);
    } finally {
      if (!opened) {
        files.forEach(WindowFile::discard);
      }
    }
  }

  private byte[] create(List<WindowFile> files, long bytes, long secret) throws IOException {
    WindowFile own = WindowFile.create(directory, bytes);
    files.add(own);
    new ControlBlock(own.memory()).writeSecret(secret);
    return own.path().toString().getBytes(StandardCharsets.UTF_8);
  }

  /** Opens the others' files behind the own one, and returns what each holds as its secret. */
  private static byte[] openOthers(
      Group group, List<WindowFile> files, List<byte[]> paths, long bytes) throws IOException {
    ByteBuffer proof = ByteBuffer.allocate(Long.BYTES * group.size());
    for (int peer = 0; peer < group.size(); peer++) {
      if (peer != group.rank()) {
        Path path = Path.of(new String(paths.get(peer), StandardCharsets.UTF_8));
        WindowFile file = open(peer, path, bytes);
        files.add(file);
        proof.putLong(Long.BYTES * peer, new ControlBlock(file.memory()).secret());
      }
    }
    return proof.array();
  }

  private static WindowFile open(int peer, Path path, long bytes) throws IOException {
    try {
      return WindowFile.open(path, bytes);
    } catch (NoSuchFileException e) {
      throw new IOException(
          ("the window of rank %d, %s, is not here: the two ranks do not share a machine's memory;"
                  + " use a transport between hosts")
              .formatted(peer, path),
          e);
    }
  }

  private static byte[] confirm(Group group, List<byte[]> proofs, long secret) {
    for (int peer = 0; peer < group.size(); peer++) {
      long found = ByteBuffer.wrap(proofs.get(peer)).getLong(Long.BYTES * group.rank());
      if (peer != group.rank() && found != secret) {
        throw new GroupException(
            ("rank %d: rank %d opened another file of the same name as this rank's window: they do"
                    + " not share a machine's memory; use a transport between hosts")
                .formatted(group.rank(), peer));
      }
    }
    return new byte[0];
  }
}
