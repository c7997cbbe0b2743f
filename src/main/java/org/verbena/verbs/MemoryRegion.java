package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.verbena.ffi.ibv_mr;

/**
 * Memory that the device may reach. The accessors are thread-safe; the memory itself is as safe as
 * what the threads and peers do to it.
 */
public final class MemoryRegion extends Resource {
  private final ProtectionDomain domain;
  private final MemorySegment handle;
  private final MemorySegment memory;
  private final long address;
  private final long length;
  private final int access;
  private final @Nullable Arena owned;
  private final LocalKey localKey;
  private final RemoteRegion remote;

  MemoryRegion(
      ProtectionDomain domain,
      MemorySegment handle,
      MemorySegment memory,
      int access,
      @Nullable Arena owned) {
    super(domain);
    this.domain = domain;
    this.handle = handle;
    this.memory = memory;
    this.address = memory.address();
    this.length = memory.byteSize();
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

  /** The registered memory. */
  public MemorySegment memory() {
    return memory;
  }

  /** Bytes. */
  public long length() {
    return length;
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
    return address + Objects.checkFromIndexSize(offset, bytes, length);
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
      throw domain.context().failure("ibv_dereg_mr", e, "deregistering " + length + " bytes");
    }
    if (owned != null) {
      owned.close();
    }
  }

  @Override
  public String toString() {
    return "memory region of %d bytes at 0x%x".formatted(length, address);
  }
}
