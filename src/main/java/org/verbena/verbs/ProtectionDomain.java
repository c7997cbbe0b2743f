package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.verbena.ffi.ibv_ah_attr;
import org.verbena.ffi.ibv_srq_attr;
import org.verbena.ffi.ibv_srq_init_attr;

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
   * end on pages that hold nothing else. A mapped file may be registered where its pages stay in
   * memory: on tmpfs ({@code /dev/shm}) and in huge pages (hugetlbfs); Linux refuses most others.
   * Read-only memory may be registered where nothing may write.
   */
  public MemoryRegion register(MemorySegment memory, Access... access) {
    return register(memory, null, access);
  }

  private MemoryRegion register(MemorySegment memory, @Nullable Arena owned, Access... access) {
    int flags = Access.flags(access);
    requireRegistrable(memory, flags);
    synchronized (lock()) {
      requireOpen();
      try {
        MemorySegment mr = context.driver().regMr(handle, memory, memory.byteSize(), flags);
        return new MemoryRegion(
            this, mr, memory, memory.address(), memory.byteSize(), flags, owned);
      } catch (Errno e) {
        throw context.failure("ibv_reg_mr", e, registrationDetail(e, memory.byteSize(), access));
      }
    }
  }

  void requireRegistrable(MemorySegment memory, int flags) {
    if (!memory.isNative() || memory.byteSize() == 0) {
      throw new IllegalArgumentException(
          "only native memory of 1 byte or more can be registered, not " + memory);
    }
    if (memory.isReadOnly() && Access.LOCAL_WRITE.in(flags)) {
      throw new IllegalArgumentException(
          "read-only memory cannot be registered to be written: " + memory);
    }
    requireLength(memory.byteSize());
  }

  private void requireLength(long bytes) {
    long most = context.attributes().maxRegionBytes();
    if (Long.compareUnsigned(bytes, most) > 0) {
      throw new IllegalArgumentException(
          "%s registers at most %s bytes at once, not %d"
              .formatted(context.name(), Long.toUnsignedString(most), bytes));
    }
  }

  /**
   * Registers a part of a dma-buf: memory of another device, which this one reaches without the
   * processor. Peers address it from {@code offset} on.
   *
   * @param descriptor the file descriptor of the dma-buf; it may be closed afterwards
   * @throws VerbsException with EOPNOTSUPP where the device or its driver cannot do it
   */
  public MemoryRegion registerDmaBuf(int descriptor, long offset, long bytes, Access... access) {
    if (descriptor < 0 || offset < 0 || bytes < 1 || offset + bytes < 0) {
      throw new IllegalArgumentException(
          "no dma-buf has descriptor %d and %d bytes at %d".formatted(descriptor, bytes, offset));
    }
    requireLength(bytes);
    int flags = Access.flags(access);
    synchronized (lock()) {
      requireOpen();
      try {
        MemorySegment mr =
            context.driver().regDmaBuf(handle, offset, bytes, offset, descriptor, flags);
        return new MemoryRegion(this, mr, null, offset, bytes, flags, null);
      } catch (Errno e) {
        throw context.failure(
            "ibv_reg_dmabuf_mr",
            e,
            "registering %d bytes at %d of the dma-buf with descriptor %d"
                .formatted(bytes, offset, descriptor));
      }
    }
  }

  private static String registrationDetail(Errno errno, long bytes, Access... access) {
    String detail = "registering %d bytes for %s".formatted(bytes, Arrays.toString(access));
    return switch (errno.number()) {
      case Errno.ENOMEM, Errno.EAGAIN ->
          detail
              + "; this process may lock %s (ulimit -l). Raise it (limits.conf, LimitMEMLOCK="
                  .formatted(MemoryLock.limit())
              + "infinity, docker --ulimit memlock=-1) or give CAP_IPC_LOCK";
      case Errno.EFAULT ->
          detail + "; a mapped file must be on tmpfs or hugetlbfs, and as long as its mapping";
      default -> detail;
    };
  }

  /**
   * Creates a queue pair on {@code path}, in state {@link QueuePairState#RESET}.
   *
   * @throws IllegalArgumentException if the options exceed the device, or a completion queue has no
   *     room for the depths asked for
   */
  public QueuePair createQueuePair(
      RdmaPath path, QueuePairOptions options, CompletionQueue sends, CompletionQueue receives) {
    return QueuePair.create(
        this, new QueuePair.Plan(path, options, sends, receives, false, 0, null));
  }

  /**
   * The same, with receives from {@code shared}: the receive depth and scatter of {@code options}
   * are of no account, and received messages complete to the queue of {@code shared}.
   */
  public QueuePair createQueuePair(
      RdmaPath path, QueuePairOptions options, CompletionQueue sends, SharedReceiveQueue shared) {
    return QueuePair.create(
        this, new QueuePair.Plan(path, options, sends, shared.completions(), false, 0, shared));
  }

  /**
   * Creates a queue pair for datagrams on {@code path}, in state {@link QueuePairState#RESET}; see
   * {@link QueuePair#activate}. What it receives begins with {@link AddressHandle#ROUTE_BYTES}
   * bytes that are not payload.
   *
   * @param qkey what a datagram must carry to be received
   */
  public QueuePair createDatagramPair(
      RdmaPath path,
      QueuePairOptions options,
      CompletionQueue sends,
      CompletionQueue receives,
      int qkey) {
    return QueuePair.create(
        this, new QueuePair.Plan(path, options, sends, receives, true, qkey, null));
  }

  /**
   * Creates a queue of receives for many queue pairs of this domain.
   *
   * @param completions where the receives of all of them complete; it must have room
   * @param depth receives that it holds
   * @param scatter memory pieces that one receive may scatter to
   */
  public SharedReceiveQueue createSharedReceiveQueue(
      CompletionQueue completions, int depth, int scatter) {
    DeviceAttributes device = context.attributes();
    Range.require("depth", depth, 1, device.maxSharedReceives());
    Range.require("receive scatter", scatter, 1, device.maxSharedScatter());
    synchronized (lock()) {
      requireOpen();
      if (completions.context() != context) {
        throw new IllegalArgumentException("the completion queue is not of " + context);
      }
      completions.requireRoom(depth);
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment init = ibv_srq_init_attr.allocate(arena);
        MemorySegment attr = ibv_srq_init_attr.attr(init);
        ibv_srq_attr.max_wr(attr, depth);
        ibv_srq_attr.max_sge(attr, scatter);
        MemorySegment srq = context.driver().createSrq(handle, init);
        return new SharedReceiveQueue(this, completions, srq, depth, scatter);
      } catch (Errno e) {
        throw context.failure(
            "ibv_create_srq", e, "for %d receives of %d pieces".formatted(depth, scatter));
      }
    }
  }

  /**
   * Creates the way from {@code path} to a port, for datagrams.
   *
   * @param gid the port's; of no account on an InfiniBand subnet that routes by LID
   * @param lid the port's; of no account on Ethernet
   */
  public AddressHandle createAddressHandle(RdmaPath path, Gid gid, int lid, Traffic traffic) {
    if (path.isGlobal() && gid.isZero()) {
      throw new IllegalArgumentException("on " + path + " an address needs a GID");
    }
    synchronized (lock()) {
      requireOpen();
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = ibv_ah_attr.allocate(arena);
        traffic.encode(attr, path, gid, lid);
        return new AddressHandle(this, context.driver().createAh(handle, attr));
      } catch (Errno e) {
        throw context.failure(
            "ibv_create_ah", e, "from %s to GID %s, LID %d".formatted(path, gid, lid));
      }
    }
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
