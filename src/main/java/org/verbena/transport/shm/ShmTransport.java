package org.verbena.transport.shm;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.verbena.transport.PeerState;
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
  private final WindowFile[] files;
  private final ControlBlock[] controls;
  private final MemorySegment[] windows;
  private boolean closed;
  private boolean failed;

  ShmTransport(int rank, List<WindowFile> files) {
    this.rank = rank;
    this.files = files.toArray(WindowFile[]::new);
    this.controls = new ControlBlock[files.size()];
    this.windows = new MemorySegment[files.size()];
    long control = ControlBlock.bytes(files.size());
    for (int peer = 0; peer < files.size(); peer++) {
      MemorySegment memory = files.get(peer).memory();
      controls[peer] = new ControlBlock(memory.asSlice(0, control));
      windows[peer] = memory.asSlice(control);
    }
  }

  /**
   * Windows in the directory that {@code VERBENA_SHM_DIR} names, else in {@code /dev/shm}. The
   * files are readable by their owner only, and lose their names as soon as all ranks have mapped
   * them.
   */
  public static TransportProvider provider() {
    String directory = System.getenv("VERBENA_SHM_DIR");
    return provider(Path.of(directory == null || directory.isEmpty() ? "/dev/shm" : directory));
  }

  /** Windows in this directory. */
  public static TransportProvider provider(Path directory) {
    return new ShmProvider(directory);
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
    return windows[rank];
  }

  @Override
  public boolean isDirect(int peer) {
    Objects.checkIndex(peer, windows.length);
    return true;
  }

  @Override
  public MemorySegment stage(int peer) {
    return windows[peer];
  }

  @Override
  public long write(int peer, long remoteOffset, long localOffset, long bytes) {
    return 0;
  }

  @Override
  public void signalRelease(int peer, long remoteOffset, long value) {
    LONG.setRelease(windows[peer], remoteOffset, value);
  }

  @Override
  public void signalIntRelease(int peer, long remoteOffset, int value) {
    INT.setRelease(windows[peer], remoteOffset, value);
  }

  @Override
  public long read(int peer, long remoteOffset, long localOffset, long bytes) {
    MemorySegment.copy(windows[peer], remoteOffset, windows[rank], localOffset, bytes);
    return 0;
  }

  @Override
  public long fetchAndAdd(int peer, long remoteOffset, long delta, long localOffset) {
    long before = (long) LONG.getAndAdd(windows[peer], remoteOffset, delta);
    LONG.set(windows[rank], localOffset, before);
    return 0;
  }

  @Override
  public long compareAndSwap(
      int peer, long remoteOffset, long expected, long value, long localOffset) {
    long before = (long) LONG.compareAndExchange(windows[peer], remoteOffset, expected, value);
    LONG.set(windows[rank], localOffset, before);
    return 0;
  }

  @Override
  public boolean isComplete(int peer, long ticket) {
    return true;
  }

  @Override
  public PeerState state(int peer) {
    PeerState told = controls[rank].state(peer);
    if (told.kind() != PeerState.Kind.ALIVE || peer == rank || files[peer].isOwnerAlive()) {
      return told;
    }
    // It may have closed just before it ended.
    PeerState last = controls[rank].state(peer);
    return last.kind() == PeerState.Kind.ALIVE ? new PeerState(PeerState.Kind.DEAD, peer) : last;
  }

  @Override
  public void fail(int culprit) {
    failed = true;
    for (ControlBlock control : controls) {
      control.markFailed(rank, culprit);
    }
  }

  @Override
  public void close() {
    if (!closed && !failed) {
      for (ControlBlock control : controls) {
        control.markClosed(rank);
      }
    }
    closed = true;
    // Tried again if it was refused before.
    for (WindowFile file : files) {
      file.close();
    }
  }
}
