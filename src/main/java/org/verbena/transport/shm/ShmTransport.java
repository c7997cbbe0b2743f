package org.verbena.transport.shm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.verbena.bootstrap.Group;
import org.verbena.transport.PeerState;
import org.verbena.transport.Registration;
import org.verbena.transport.Transport;
import org.verbena.transport.TransportProvider;

/**
 * The transport between processes, or threads, of one machine. Every window is a mapped file that
 * all ranks map, so every peer is direct: bytes are stored where they belong, once.
 *
 * <p>Shared memory can't be fenced off from a process that may still write. After a failure a
 * window is therefore never used again; a new group maps new files.
 *
 * <p>Ranks are processes, or all are threads of one process. In a mixed group a thread's rank would
 * be taken for dead once another thread of its process has closed: the kernel keeps the locks that
 * tell for whole processes.
 */
public final class ShmTransport implements Transport {
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

  private final int rank;
  // At [peer]; null where a peer does not share this machine's memory.
  private final @Nullable WindowFile[] files;
  private final @Nullable ControlBlock[] controls;
  private final @Nullable MemorySegment[] windows;

  private final ControlBlock control;
  private final MemorySegment window;
  private boolean closed;
  private boolean failed;

  ShmTransport(int rank, @Nullable WindowFile[] files) {
    this.rank = rank;
    this.files = files;
    this.controls = new ControlBlock[files.length];
    this.windows = new MemorySegment[files.length];
    long controlBytes = ControlBlock.bytes(files.length);
    for (int peer = 0; peer < files.length; peer++) {
      WindowFile file = files[peer];
      if (file != null) {
        controls[peer] = new ControlBlock(file.memory().asSlice(0, controlBytes));
        windows[peer] = file.memory().asSlice(controlBytes);
      }
    }
    control = Objects.requireNonNull(controls[rank]);
    window = Objects.requireNonNull(windows[rank]);
  }

  /**
   * Windows in the directory that {@code VERBENA_SHM_DIR} names, else in {@code /dev/shm}. The
   * files are readable by their owner only, and lose their names as soon as all ranks have mapped
   * them.
   */
  public static TransportProvider provider() {
    return provider(directory());
  }

  /** Windows in this directory. */
  public static TransportProvider provider(Path directory) {
    return new ShmProvider(directory, false);
  }

  /**
   * Opens windows of which only those are mapped that share this machine's memory; collective. The
   * other peers are not {@linkplain #isDirect direct}, and nothing else can be done with them.
   */
  public static ShmTransport openPartly(Group group, long windowBytes) {
    return openPartly(directory(), group, windowBytes);
  }

  /** The same with windows in this directory. */
  public static ShmTransport openPartly(Path directory, Group group, long windowBytes) {
    return new ShmProvider(directory, true).open(group, windowBytes);
  }

  private static Path directory() {
    String directory = System.getenv("VERBENA_SHM_DIR");
    return Path.of(directory == null || directory.isEmpty() ? "/dev/shm" : directory);
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public int size() {
    return windows.length;
  }

  @Override
  public MemorySegment window() {
    return window;
  }

  private MemorySegment window(int peer) {
    MemorySegment found = windows[peer];
    if (found == null) {
      throw new IllegalStateException(
          "rank %d: rank %d does not share this machine's memory".formatted(rank, peer));
    }
    return found;
  }

  @Override
  public boolean isDirect(int peer) {
    return windows[peer] != null;
  }

  @Override
  public MemorySegment stage(int peer) {
    return window(peer);
  }

  @Override
  public long write(int peer, long remoteOffset, long localOffset, long bytes) {
    return 0;
  }

  /** Rows are copied once anyway, from where they are to where they arrive. */
  @Override
  public Registration register(MemorySegment memory) {
    return Registration.of(memory);
  }

  @Override
  public long write(int peer, long remoteOffset, Registration from, long offset, long bytes) {
    MemorySegment.copy(from.memory(), offset, window(peer), remoteOffset, bytes);
    return 0;
  }

  @Override
  public void signalRelease(int peer, long remoteOffset, long value) {
    LONG.setRelease(window(peer), remoteOffset, value);
  }

  @Override
  public void signalIntRelease(int peer, long remoteOffset, int value) {
    INT.setRelease(window(peer), remoteOffset, value);
  }

  @Override
  public long read(int peer, long remoteOffset, long localOffset, long bytes) {
    MemorySegment.copy(window(peer), remoteOffset, window, localOffset, bytes);
    return 0;
  }

  @Override
  public long fetchAndAdd(int peer, long remoteOffset, long delta, long localOffset) {
    long before = (long) LONG.getAndAdd(window(peer), remoteOffset, delta);
    LONG.set(window, localOffset, before);
    return 0;
  }

  @Override
  public long compareAndSwap(
      int peer, long remoteOffset, long expected, long value, long localOffset) {
    long before = (long) LONG.compareAndExchange(window(peer), remoteOffset, expected, value);
    LONG.set(window, localOffset, before);
    return 0;
  }

  @Override
  public boolean isComplete(int peer, long ticket) {
    return true;
  }

  @Override
  public PeerState state(int peer) {
    PeerState told = control.state(peer);
    WindowFile file = files[peer];
    if (told.kind() != PeerState.Kind.ALIVE
        || peer == rank
        || file == null
        || file.isOwnerAlive()) {
      return told;
    }
    // It may have closed just before it ended.
    PeerState last = control.state(peer);
    return last.kind() == PeerState.Kind.ALIVE ? new PeerState(PeerState.Kind.DEAD, peer) : last;
  }

  @Override
  public void fail(int culprit) {
    failed = true;
    for (ControlBlock each : controls) {
      if (each != null) {
        each.markFailed(rank, culprit);
      }
    }
  }

  @Override
  public void close() {
    if (!closed && !failed) {
      for (ControlBlock each : controls) {
        if (each != null) {
          each.markClosed(rank);
        }
      }
    }
    closed = true;
    // Tried again if it was refused before.
    for (WindowFile file : files) {
      if (file != null) {
        file.close();
      }
    }
  }
}
