package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.verbena.ffi.IbverbsTypes;
import org.verbena.ffi.ibv_mr;

/**
 * Memory that the device may reach. The accessors are thread-safe; the memory itself is as safe as
 * what the threads and peers do to it.
 */
public final class MemoryRegion extends Resource {
  private final ProtectionDomain domain;
  private final MemorySegment handle;
  private final @Nullable Arena owned;
  private volatile @Nullable MemorySegment memory;
  private volatile int access;
  private volatile LocalKey localKey;
  private volatile RemoteRegion remote;

  /**
   * @param memory what was registered; null where it is not mapped here
   * @param owned what frees the memory when the region is closed
   */
  MemoryRegion(
      ProtectionDomain domain,
      MemorySegment handle,
      @Nullable MemorySegment memory,
      long address,
      long length,
      int access,
      @Nullable Arena owned) {
    super(domain);
    this.domain = domain;
    this.handle = handle;
    this.memory = memory;
    this.access = access;
    this.owned = owned;
    this.localKey = new LocalKey(ibv_mr.lkey(handle));
    this.remote = new RemoteRegion(address, length, new RemoteKey(ibv_mr.rkey(handle)));
    attach();
  }

  @Override
  MemorySegment handle() {
    return handle;
  }

  ProtectionDomain domain() {
    return domain;
  }

  /**
   * The registered memory.
   *
   * @throws IllegalStateException if it is a dma-buf, which is not mapped here
   */
  public MemorySegment memory() {
    MemorySegment mapped = memory;
    if (mapped == null) {
      throw new IllegalStateException(this + " is a dma-buf, which is not mapped here");
    }
    return mapped;
  }

  /** Bytes. */
  public long length() {
    return remote.length();
  }

  /** What names this region to its own device. */
  public LocalKey localKey() {
    return localKey;
  }

  /** What a peer needs to reach this region. Whoever has it can. */
  public RemoteRegion remote() {
    return remote;
  }

  /** Whether {@code wanted} was asked for, or implied. */
  public boolean allows(Access wanted) {
    return wanted.in(access);
  }

  void require(Access wanted) {
    if (!allows(wanted)) {
      throw new IllegalArgumentException(this + " was not registered for " + wanted);
    }
  }

  /** The address of {@code bytes} bytes at {@code offset}, which must lie in this region. */
  long addressOf(long offset, long bytes) {
    requireOpen();
    RemoteRegion now = remote;
    return now.address() + Objects.checkFromIndexSize(offset, bytes, now.length());
  }

  /**
   * Lets this region stand for other memory, of the same domain, or give other access; chains that
   * were built with it, and what {@link #remote} gave, are void. No request may be using it. Not
   * all devices can do it, and some change only one of the two at a time.
   *
   * @param other as for {@link ProtectionDomain#register}; the present memory to change the access
   *     alone
   * @throws IllegalArgumentException if the memory is not as it must be, or was allocated by {@link
   *     ProtectionDomain#allocate} and should be left
   * @throws VerbsException if the device refuses; the region is then to be closed, unless the error
   *     is EOPNOTSUPP or EINVAL
   */
  public void reregister(MemorySegment other, Access... wanted) {
    int flags = Access.flags(wanted);
    domain.requireRegistrable(other, flags);
    boolean moves =
        other.address() != memory().address() || other.byteSize() != memory().byteSize();
    if (moves && owned != null) {
      throw new IllegalArgumentException(this + " owns its memory and cannot leave it");
    }
    int what =
        (moves ? IbverbsTypes.IBV_REREG_MR_CHANGE_TRANSLATION() : 0)
            | (flags != access ? IbverbsTypes.IBV_REREG_MR_CHANGE_ACCESS() : 0);
    if (what == 0) {
      return;
    }
    synchronized (lock()) {
      requireOpen();
      try {
        domain
            .context()
            .driver()
            .reregMr(
                handle,
                what,
                moves ? other : MemorySegment.NULL,
                moves ? other.byteSize() : 0,
                flags != access ? flags : 0);
      } catch (Errno e) {
        throw domain
            .context()
            .failure(
                "ibv_rereg_mr",
                e,
                "giving %s %s and %d bytes"
                    .formatted(this, Arrays.toString(wanted), other.byteSize()));
      }
      memory = other;
      access = flags;
      localKey = new LocalKey(ibv_mr.lkey(handle));
      remote =
          new RemoteRegion(other.address(), other.byteSize(), new RemoteKey(ibv_mr.rkey(handle)));
    }
  }

  @Override
  int closingOrder() {
    return 1;
  }

  @Override
  void destroy() {
    try {
      domain.context().driver().deregMr(handle);
    } catch (Errno e) {
      // The device may still reach the memory, so it is not freed.
      throw domain.context().failure("ibv_dereg_mr", e, "deregistering " + length() + " bytes");
    }
    if (owned != null) {
      owned.close();
    }
  }

  @Override
  public String toString() {
    return "memory region of %d bytes at 0x%x".formatted(remote.length(), remote.address());
  }
}
