package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Memory regions and queue pairs that may work together. All methods are thread-safe. */
public final class ProtectionDomain extends Resource {
  /** Registered memory starts and ends on pages, so that no two regions share one. */
  private static final long PAGE_BYTES = 4096;

  private final Context context;
  private final MemorySegment handle;

  ProtectionDomain(Context context, MemorySegment handle) {
    super(context);
    this.context = context;
    this.handle = handle;
    attach();
  }

  Context context() {
    return context;
  }

  @Override
  MemorySegment handle() {
    return handle;
  }

  /**
   * Allocates zeroed memory of {@code bytes}, page-aligned, and registers it. The memory lives
   * until the region is closed; after that, access to it throws.
   */
  @SuppressWarnings("MustBeClosedChecker") // closed by the region
  public MemoryRegion allocate(long bytes, Access... access) {
    if (bytes < 1) {
      throw new IllegalArgumentException("a memory region has 1 byte or more, not " + bytes);
    }
    long pages = Math.ceilDiv(bytes, PAGE_BYTES);
    Arena arena = Arena.ofShared();
    try {
      MemorySegment memory = arena.allocate(Math.multiplyExact(pages, PAGE_BYTES), PAGE_BYTES);
      return register(memory.asSlice(0, bytes), arena, access);
    } catch (RuntimeException | Error e) {
      arena.close();
      throw e;
    }
  }

  /**
   * Registers memory that the caller owns and keeps until the region is closed. It should start and
   * end on pages that hold nothing else.
   */
  public MemoryRegion register(MemorySegment memory, Access... access) {
    return register(memory, null, access);
  }

  private MemoryRegion register(MemorySegment memory, @Nullable Arena owned, Access... access) {
    if (!memory.isNative() || memory.isReadOnly() || memory.byteSize() == 0) {
      throw new IllegalArgumentException(
          "only writable native memory of 1 byte or more can be registered, not " + memory);
    }
    long most = context.attributes().maxRegionBytes();
    if (Long.compareUnsigned(memory.byteSize(), most) > 0) {
      throw new IllegalArgumentException(
          "%s registers at most %s bytes at once, not %d"
              .formatted(context.name(), Long.toUnsignedString(most), memory.byteSize()));
    }
    Set<Access> set = EnumSet.noneOf(Access.class);
    set.addAll(Set.of(access));
    int flags = Access.flags(set);
    synchronized (lock()) {
      requireOpen();
      try {
        MemorySegment mr = context.driver().regMr(handle, memory, memory.byteSize(), flags);
        return new MemoryRegion(this, mr, memory, flags, owned);
      } catch (Errno e) {
        throw context.failure("ibv_reg_mr", e, registrationDetail(e, memory.byteSize(), set));
      }
    }
  }

  private static String registrationDetail(Errno errno, long bytes, Set<Access> access) {
    String detail = "registering %d bytes for %s".formatted(bytes, access);
    return errno.number() == Errno.ENOMEM || errno.number() == Errno.EAGAIN
        ? detail
            + "; this process may lock %s (ulimit -l). Raise it (limits.conf, LimitMEMLOCK="
                .formatted(MemoryLock.limit())
            + "infinity, docker --ulimit memlock=-1) or give CAP_IPC_LOCK"
        : detail;
  }

  /**
   * Creates a queue pair on {@code path}, in state {@link QueuePairState#RESET}.
   *
   * @throws IllegalArgumentException if the options exceed the device, or a completion queue has no
   *     room for the depths asked for
   */
  public QueuePair createQueuePair(
      RdmaPath path, QueuePairOptions options, CompletionQueue sends, CompletionQueue receives) {
    return QueuePair.create(this, path, options, sends, receives);
  }

  @Override
  int closingOrder() {
    return 2;
  }

  @Override
  void destroy() {
    try {
      context.driver().deallocPd(handle);
    } catch (Errno e) {
      throw context.failure("ibv_dealloc_pd", e, "freeing a protection domain");
    }
  }

  @Override
  public String toString() {
    return "protection domain of " + context.name();
  }
}
