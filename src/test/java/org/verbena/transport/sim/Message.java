package org.verbena.transport.sim;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.jspecify.annotations.Nullable;

/** A write or a signal on its way from one rank to another. */
public final class Message {
  /** The part of a round that a message belongs to. */
  public enum Kind {
    DISPATCH,
    COMBINE
  }

  final int source;
  final int target;
  final Kind kind;
  final long epoch;

  /** Where it lands. */
  final long offset;

  final long bytes;

  /** What a write reads from when it arrives; null for a signal. */
  private final @Nullable MemorySegment local;

  /** What was there when the write was posted. */
  private final byte[] posted;

  private final long value;
  private long before;
  private boolean arrived;

  private Message(
      int source,
      int target,
      Kind kind,
      long epoch,
      long offset,
      long bytes,
      @Nullable MemorySegment local,
      long value) {
    this.source = source;
    this.target = target;
    this.kind = kind;
    this.epoch = epoch;
    this.offset = offset;
    this.bytes = bytes;
    this.local = local;
    this.posted = local == null ? new byte[0] : local.toArray(ValueLayout.JAVA_BYTE);
    this.value = value;
  }

  static Message write(
      int source, int target, Kind kind, long epoch, long offset, MemorySegment local) {
    return new Message(source, target, kind, epoch, offset, local.byteSize(), local, 0);
  }

  static Message signal(
      int source, int target, Kind kind, long epoch, long offset, int bytes, long value) {
    return new Message(source, target, kind, epoch, offset, bytes, null, value);
  }

  public int source() {
    return source;
  }

  public Kind kind() {
    return kind;
  }

  public long epoch() {
    return epoch;
  }

  /** Where it lands. */
  public long offset() {
    return offset;
  }

  public boolean isSignal() {
    return local == null;
  }

  /** The word of a signal. */
  public long value() {
    return value;
  }

  public boolean hasArrived() {
    return arrived;
  }

  /** Whether both land in the same memory. */
  boolean overlaps(Message other) {
    return offset < other.offset + other.bytes && other.offset < offset + bytes;
  }

  /** Whether this only brings a word of the same round up to date. */
  boolean updates(Message other) {
    return isSignal()
        && other.isSignal()
        && source == other.source
        && kind == other.kind
        && epoch == other.epoch
        && offset == other.offset
        && bytes == other.bytes;
  }

  void checkLocal() {
    if (local != null && local.mismatch(MemorySegment.ofArray(posted)) >= 0) {
      throw new ProtocolViolation(
          "rank " + source + " rewrote the memory that leaves with " + this);
    }
  }

  void arrive(MemorySegment window) {
    checkLocal();
    if (local == null) {
      before = word(window);
      store(window, value);
    } else {
      MemorySegment.copy(local, 0, window, offset, bytes);
    }
    arrived = true;
  }

  void checkArrived(MemorySegment window) {
    if (arrived && local == null && word(window) != value) {
      throw new ProtocolViolation("rank " + target + " rewrote " + this + ", which is not taken");
    }
  }

  /** Looks at a window as it was before this signal arrived, all else being as it is now. */
  void without(MemorySegment window, Runnable look) {
    long now = word(window);
    store(window, before);
    look.run();
    store(window, now);
  }

  private long word(MemorySegment window) {
    return bytes == Integer.BYTES
        ? window.get(ValueLayout.JAVA_INT, offset)
        : window.get(ValueLayout.JAVA_LONG, offset);
  }

  private void store(MemorySegment window, long word) {
    if (bytes == Integer.BYTES) {
      window.set(ValueLayout.JAVA_INT, offset, (int) word);
    } else {
      window.set(ValueLayout.JAVA_LONG, offset, word);
    }
  }

  @Override
  public String toString() {
    return "the %s %s of epoch %d from rank %d to rank %d at %d"
        .formatted(kind, isSignal() ? "signal" : "write", epoch, source, target, offset);
  }
}
