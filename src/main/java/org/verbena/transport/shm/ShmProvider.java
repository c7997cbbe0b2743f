package org.verbena.transport.shm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.verbena.bootstrap.Group;
import org.verbena.bootstrap.GroupException;
import org.verbena.transport.TransportProvider;

/**
 * Opens windows of shared memory. Each rank creates its file and tells its path, opens the others'
 * files, and shows that it did by telling the secrets that it found in them. Then the names go.
 *
 * @param partial whether ranks may be elsewhere; then those are left out
 */
record ShmProvider(Path directory, boolean partial) implements TransportProvider {
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
  public ShmTransport open(Group group, long windowBytes) {
    long bytes = Math.addExact(ControlBlock.bytes(group.size()), windowBytes);
    long secret = RANDOM.nextLong();
    @Nullable WindowFile[] files = new WindowFile[group.size()];
    boolean opened = false;
    try {
      List<byte[]> paths =
          group.allGatherResults("shm window", () -> create(group.rank(), files, bytes, secret));
      List<byte[]> proofs =
          group.allGatherResults("shm proof", () -> openOthers(group, files, paths, bytes));
      // All have opened all by now.
      Objects.requireNonNull(files[group.rank()]).removeName();
      List<byte[]> confirmed =
          group.allGatherResults("shm confirmation", () -> confirm(group, proofs, secret));
      leaveOut(group.rank(), files, confirmed);
      opened = true;
      return new ShmTransport(group.rank(), files);
    } catch (IOException e) {
      throw new GroupException(
          "rank %d: could not remove the name of its window: %s".formatted(group.rank(), e), e);
    } finally {
      if (!opened) {
        discard(files);
      }
    }
  }

  private byte[] create(int rank, @Nullable WindowFile[] files, long bytes, long secret)
      throws IOException {
    WindowFile own = WindowFile.create(directory, bytes);
    files[rank] = own;
    new ControlBlock(own.memory()).writeSecret(secret);
    return own.path().toString().getBytes(StandardCharsets.UTF_8);
  }

  /** Opens the others' files, and returns what each holds as its secret; 0 for none. */
  private byte[] openOthers(
      Group group, @Nullable WindowFile[] files, List<byte[]> paths, long bytes)
      throws IOException {
    ByteBuffer proof = ByteBuffer.allocate(Long.BYTES * group.size());
    for (int peer = 0; peer < group.size(); peer++) {
      if (peer != group.rank()) {
        Path path = Path.of(new String(paths.get(peer), StandardCharsets.UTF_8));
        WindowFile file = open(peer, path, bytes);
        files[peer] = file;
        if (file != null) {
          proof.putLong(Long.BYTES * peer, new ControlBlock(file.memory()).secret());
        }
      }
    }
    return proof.array();
  }

  private @Nullable WindowFile open(int peer, Path path, long bytes) throws IOException {
    if (partial && !path.startsWith(directory)) {
      return null;
    }
    try {
      return WindowFile.open(path, bytes);
    } catch (NoSuchFileException e) {
      if (partial) {
        return null;
      }
      throw new IOException(
          ("the window of rank %d, %s, is not here: the two ranks do not share a machine's memory;"
                  + " use a transport between hosts")
              .formatted(peer, path),
          e);
    }
  }

  /** Who has opened this rank's file: 1 at [peer], else 0. */
  private byte[] confirm(Group group, List<byte[]> proofs, long secret) {
    byte[] confirmed = new byte[group.size()];
    for (int peer = 0; peer < group.size(); peer++) {
      long found = ByteBuffer.wrap(proofs.get(peer)).getLong(Long.BYTES * group.rank());
      boolean right = peer == group.rank() || found == secret;
      if (!right && !partial) {
        throw new GroupException(
            ("rank %d: rank %d opened another file of the same name as this rank's window: they do"
                    + " not share a machine's memory; use a transport between hosts")
                .formatted(group.rank(), peer));
      }
      confirmed[peer] = (byte) (right ? 1 : 0);
    }
    return confirmed;
  }

  /** Keeps the files of those alone who have this rank's too. */
  private static void leaveOut(int rank, @Nullable WindowFile[] files, List<byte[]> confirmed) {
    for (int peer = 0; peer < files.length; peer++) {
      WindowFile file = files[peer];
      if (file != null && (confirmed.get(rank)[peer] == 0 || confirmed.get(peer)[rank] == 0)) {
        file.close();
        files[peer] = null;
      }
    }
  }

  private static void discard(@Nullable WindowFile[] files) {
    for (WindowFile file : files) {
      if (file != null) {
        file.discard();
      }
    }
  }
}
