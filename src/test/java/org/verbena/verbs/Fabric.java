package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.verbena.ffi.IbverbsTypes;
import org.verbena.ffi.ibv_context;
import org.verbena.ffi.ibv_context_ops;
import org.verbena.ffi.ibv_cq;
import org.verbena.ffi.ibv_device_attr;
import org.verbena.ffi.ibv_gid_entry;
import org.verbena.ffi.ibv_mr;
import org.verbena.ffi.ibv_port_attr;
import org.verbena.ffi.ibv_qp;
import org.verbena.ffi.ibv_qp_attr;
import org.verbena.ffi.ibv_qp_cap;
import org.verbena.ffi.ibv_qp_init_attr;
import org.verbena.ffi.ibv_recv_wr;
import org.verbena.ffi.ibv_send_wr;
import org.verbena.ffi.ibv_sge;
import org.verbena.ffi.ibv_wc;

/**
 * A device that all ranks of this process share, and a network that really moves their bytes. It is
 * as strict as a device may be: memory is checked against keys, queues have the depth that was
 * asked for, and what is not inline is read when it is carried out.
 *
 * <p>Either each request is carried out as it is posted, without allocating anything; or a thread
 * of its own does, a queue pair at a time, in an order that its seed decides.
 */
@SuppressWarnings({"restricted", "EnumOrdinal"})
public final class Fabric implements AutoCloseable {
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();
  private static final int FIRST_PAIR = 0x40;
  private static final int FIRST_KEY = 0x100;
  private static final int MOST_PIECES = 32;
  private static final int REMOTE = 40;
  private static final long QUEUE_PLACE = ibv_cq.sizeof() + 64;

  private record Region(long address, long length, int access) {}

  /** A send or receive queue of requests that are posted and not done. */
  private static final class Pair {
    final int number;
    final int sendDepth;
    final int receiveDepth;
    final int mostInline;
    final Queue queue;
    final Queue receiveQueue;
    final MemorySegment requests;
    final MemorySegment inlined;
    final long[] receives;
    int state;
    int destination;
    long sendHead;
    long sendTail;
    long receiveHead;
    long receiveTail;

    /** Requests that were told to have ended: by a completion that was polled, of a later one. */
    long acknowledged;

    Pair(Arena arena, int number, MemorySegment cap, Queue queue, Queue receiveQueue) {
      this.number = number;
      sendDepth = ibv_qp_cap.max_send_wr(cap);
      receiveDepth = ibv_qp_cap.max_recv_wr(cap);
      mostInline = ibv_qp_cap.max_inline_data(cap);
      this.queue = queue;
      this.receiveQueue = receiveQueue;
      long entry = ibv_send_wr.sizeof() + MOST_PIECES * ibv_sge.sizeof();
      requests = arena.allocate(entry * sendDepth, 8);
      inlined = arena.allocate(Math.max(1, (long) mostInline * sendDepth), 8);
      receives = new long[Math.max(1, receiveDepth)];
    }

    long request(long number) {
      long entry = ibv_send_wr.sizeof() + MOST_PIECES * ibv_sge.sizeof();
      return requests.address() + number % sendDepth * entry;
    }

    long inline(long number) {
      return inlined.address() + number % sendDepth * mostInline;
    }
  }

  /** Completions that were not polled yet. */
  private static final class Queue {
    final MemorySegment rows;
    final int capacity;
    long head;
    long tail;

    Queue(Arena arena, int capacity) {
      this.capacity = capacity;
      rows = arena.allocate(ibv_wc.sizeof() * capacity, 8);
    }

    long row(long number) {
      return rows.address() + number % capacity * ibv_wc.sizeof();
    }
  }

  private final Control control = new Control();
  private final Arena arena = Arena.ofShared();
  private final MemorySegment ops = arena.allocate(ibv_context_ops.layout());
  private final Map<Long, Queue> queuesByHandle = new HashMap<>();
  private final Map<Long, Thread> openers = new HashMap<>();
  private final Map<Long, List<Pair>> pairsByContext = new HashMap<>();
  private final Map<Long, Long> contextOfDomain = new HashMap<>();
  private @Nullable Pair[] pairs = new Pair[16];
  private @Nullable Region[] regions = new Region[16];
  private @Nullable Queue[] queues = new Queue[16];
  private int pairCount;
  private int regionCount;
  private int queueCount;
  private volatile boolean closed;

  private final @Nullable Random random;
  private final @Nullable Thread network;

  /** The largest payload that a request may carry inline. */
  public int mostInline = 512;

  /** What atomics there are, as a device tells. */
  public AtomicCapability atomics = AtomicCapability.DEVICE;

  /** Whether completions are kept back. */
  public volatile boolean holdsCompletions;

  /** The number of a post, counted from now, that is refused; 0 if none is. */
  public volatile int refusedPost;

  /** Carries requests out as they are posted. */
  public Fabric() {
    this(null);
  }

  /** Carries requests out later, in an order that {@code seed} decides. */
  public Fabric(long seed) {
    this(new Random(seed));
  }

  private Fabric(@Nullable Random random) {
    this.random = random;
    ibv_context_ops.post_send(ops, stub("postSend", 3));
    ibv_context_ops.post_recv(ops, stub("postReceive", 3));
    ibv_context_ops.poll_cq(
        ops,
        Linker.nativeLinker()
            .upcallStub(
                handle("poll", long.class, int.class, long.class),
                FunctionDescriptor.of(
                    ValueLayout.JAVA_INT,
                    ValueLayout.JAVA_LONG,
                    ValueLayout.JAVA_INT,
                    ValueLayout.JAVA_LONG),
                arena));
    network = random == null ? null : Thread.ofPlatform().daemon().start(this::carry);
  }

  private MemorySegment stub(String name, int arguments) {
    Class<?>[] types = new Class<?>[arguments];
    ValueLayout[] layouts = new ValueLayout[arguments];
    for (int i = 0; i < arguments; i++) {
      types[i] = long.class;
      layouts[i] = ValueLayout.JAVA_LONG;
    }
    return Linker.nativeLinker()
        .upcallStub(
            handle(name, types), FunctionDescriptor.of(ValueLayout.JAVA_INT, layouts), arena);
  }

  private MethodHandle handle(String name, Class<?>... types) {
    try {
      return MethodHandles.lookup()
          .findVirtual(Fabric.class, name, MethodType.methodType(int.class, types))
          .bindTo(this);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("a function of the context", e);
    }
  }

  /** Opens the device, as {@link Verbs#open(PathSelector)} does. */
  public PathChoice open(PathSelector selector) {
    return Verbs.open(control, selector);
  }

  /** Ends this thread's rank as the end of its process would: its queue pairs are gone at once. */
  public synchronized void killPairsOfThisThread() {
    for (Map.Entry<Long, Thread> opener : openers.entrySet()) {
      if (opener.getValue() == Thread.currentThread()) {
        for (Pair pair : pairsByContext.getOrDefault(opener.getKey(), List.of())) {
          pairs[pair.number - FIRST_PAIR] = null;
        }
      }
    }
  }

  @Override
  public void close() {
    closed = true;
    while (network != null && network.isAlive()) {
      LockSupport.parkNanos(100_000);
    }
  }

  // Data path

  private static long getLong(long address) {
    return ALL.get(ValueLayout.JAVA_LONG, address);
  }

  private static int getInt(long address) {
    return ALL.get(ValueLayout.JAVA_INT, address);
  }

  private static void setLong(long address, long value) {
    ALL.set(ValueLayout.JAVA_LONG, address, value);
  }

  private static void setInt(long address, int value) {
    ALL.set(ValueLayout.JAVA_INT, address, value);
  }

  private @Nullable Pair pair(int number) {
    int place = number - FIRST_PAIR;
    return place >= 0 && place < pairs.length ? pairs[place] : null;
  }

  @SuppressWarnings("UnusedMethod") // a function of the context
  private synchronized int postSend(long qp, long first, long refused) {
    Pair pair = pair(getInt(qp + ibv_qp.qp_num$offset()));
    if (pair == null) {
      setLong(refused, first);
      return Errno.EINVAL;
    }
    if (refusedPost > 0 && --refusedPost == 0) {
      setLong(refused, first);
      return Errno.ENOMEM;
    }
    for (long at = first; at != 0; at = getLong(at + ibv_send_wr.next$offset())) {
      if (pair.sendTail - pair.acknowledged == pair.sendDepth) {
        setLong(refused, at);
        return Errno.ENOMEM;
      }
      accept(pair, at);
    }
    if (random == null) {
      while (pair.sendHead < pair.sendTail) {
        carryOut(pair);
      }
    }
    return 0;
  }

  /** Copies a request, and what it carries inline. */
  private void accept(Pair pair, long at) {
    long copy = pair.request(pair.sendTail);
    MemorySegment.copy(ALL, at, ALL, copy, ibv_send_wr.sizeof());
    int pieces = getInt(at + ibv_send_wr.num_sge$offset());
    long list = getLong(at + ibv_send_wr.sg_list$offset());
    long listCopy = copy + ibv_send_wr.sizeof();
    MemorySegment.copy(ALL, list, ALL, listCopy, pieces * ibv_sge.sizeof());
    int flags = getInt(at + ibv_send_wr.send_flags$offset());
    if ((flags & IbverbsTypes.IBV_SEND_INLINE()) != 0) {
      long into = pair.inline(pair.sendTail);
      for (int i = 0; i < pieces; i++) {
        long entry = listCopy + i * ibv_sge.sizeof();
        int length = getInt(entry + ibv_sge.length$offset());
        MemorySegment.copy(ALL, getLong(entry + ibv_sge.addr$offset()), ALL, into, length);
        setLong(entry + ibv_sge.addr$offset(), into);
        into += length;
      }
    }
    pair.sendTail++;
  }

  private void carry() {
    Random order = random;
    while (order != null && !closed) {
      boolean found = false;
      synchronized (this) {
        int start = pairCount == 0 ? 0 : order.nextInt(pairCount);
        for (int i = 0; i < pairCount && !found; i++) {
          Pair pair = pairs[(start + i) % pairCount];
          int most = 1 + order.nextInt(4);
          while (pair != null && pair.sendHead < pair.sendTail && most-- > 0) {
            found = true;
            carryOut(pair);
          }
        }
      }
      if (!found) {
        LockSupport.parkNanos(20_000);
      }
    }
  }

  private void carryOut(Pair pair) {
    long request = pair.request(pair.sendHead);
    int flags = getInt(request + ibv_send_wr.send_flags$offset());
    int status =
        pair.state == IbverbsTypes.IBV_QPS_ERR()
            ? IbverbsTypes.IBV_WC_WR_FLUSH_ERR()
            : execute(pair, request, flags);
    pair.sendHead++;
    if (status != 0) {
      pair.state = IbverbsTypes.IBV_QPS_ERR();
    }
    if (status != 0 || (flags & IbverbsTypes.IBV_SEND_SIGNALED()) != 0) {
      int opcode = getInt(request + ibv_send_wr.opcode$offset());
      long row = complete(pair.queue, getLong(request), status, pair.number);
      setInt(row + ibv_wc.opcode$offset(), opcodeOf(opcode));
      setInt(row + ibv_wc.src_qp$offset(), (int) pair.sendHead);
    }
  }

  private static int opcodeOf(int request) {
    return switch (request) {
      case 0, 1 -> IbverbsTypes.IBV_WC_RDMA_WRITE();
      case 4 -> IbverbsTypes.IBV_WC_RDMA_READ();
      case 5 -> IbverbsTypes.IBV_WC_COMP_SWAP();
      default -> IbverbsTypes.IBV_WC_FETCH_ADD();
    };
  }

  private long complete(Queue queue, long id, int status, int number) {
    if (queue.tail - queue.head == queue.capacity) {
      throw new IllegalStateException("a completion queue was overrun");
    }
    long row = queue.row(queue.tail++);
    setLong(row, id);
    setInt(row + ibv_wc.status$offset(), status);
    setInt(row + ibv_wc.qp_num$offset(), number);
    setInt(row + ibv_wc.wc_flags$offset(), 0);
    setInt(row + ibv_wc.vendor_err$offset(), status);
    return row;
  }

  private int execute(Pair from, long request, int flags) {
    Pair to = pair(from.destination);
    if (to == null || to.state < IbverbsTypes.IBV_QPS_RTR() || to.state > 3) {
      return IbverbsTypes.IBV_WC_RETRY_EXC_ERR();
    }
    int opcode = getInt(request + ibv_send_wr.opcode$offset());
    boolean atomic = opcode >= IbverbsTypes.IBV_WR_ATOMIC_CMP_AND_SWP();
    boolean reads = opcode == IbverbsTypes.IBV_WR_RDMA_READ();
    int pieces = getInt(request + ibv_send_wr.num_sge$offset());
    long list = request + ibv_send_wr.sizeof();
    long bytes = 0;
    for (int i = 0; i < pieces; i++) {
      long entry = list + i * ibv_sge.sizeof();
      int length = getInt(entry + ibv_sge.length$offset());
      bytes += length;
      boolean inline = (flags & IbverbsTypes.IBV_SEND_INLINE()) != 0;
      int access = atomic || reads ? IbverbsTypes.IBV_ACCESS_LOCAL_WRITE() : 0;
      int key = getInt(entry + ibv_sge.lkey$offset());
      if (!inline && !reaches(key, getLong(entry), length, access)) {
        return IbverbsTypes.IBV_WC_LOC_PROT_ERR();
      }
    }
    long remote = getLong(request + REMOTE);
    int key = getInt(request + REMOTE + (atomic ? 24 : 8));
    if (!reaches(key, remote, bytes, remoteAccess(opcode))) {
      return IbverbsTypes.IBV_WC_REM_ACCESS_ERR();
    }
    if (opcode == IbverbsTypes.IBV_WR_RDMA_WRITE_WITH_IMM() && to.receiveHead == to.receiveTail) {
      return IbverbsTypes.IBV_WC_RNR_RETRY_EXC_ERR();
    }
    if (atomic) {
      atomic(opcode, remote, request, getLong(list));
      return 0;
    }
    long done = remote;
    for (int i = 0; i < pieces; i++) {
      long entry = list + i * ibv_sge.sizeof();
      int length = getInt(entry + ibv_sge.length$offset());
      long local = getLong(entry);
      move(reads ? done : local, reads ? local : done, length);
      done += length;
    }
    if (opcode == IbverbsTypes.IBV_WR_RDMA_WRITE_WITH_IMM()) {
      long id = to.receives[(int) (to.receiveHead++ % to.receives.length)];
      long row = complete(to.receiveQueue, id, 0, to.number);
      setInt(row + ibv_wc.opcode$offset(), IbverbsTypes.IBV_WC_RECV_RDMA_WITH_IMM());
      setInt(row + ibv_wc.imm_data$offset(), getInt(request + ibv_send_wr.imm_data$offset()));
      setInt(row + ibv_wc.wc_flags$offset(), IbverbsTypes.IBV_WC_WITH_IMM());
      setInt(row + ibv_wc.byte_len$offset(), (int) bytes);
    }
    return 0;
  }

  private static int remoteAccess(int opcode) {
    return switch (opcode) {
      case 0, 1 -> IbverbsTypes.IBV_ACCESS_REMOTE_WRITE();
      case 4 -> IbverbsTypes.IBV_ACCESS_REMOTE_READ();
      default -> IbverbsTypes.IBV_ACCESS_REMOTE_ATOMIC();
    };
  }

  private static void atomic(int opcode, long word, long request, long result) {
    long operand = getLong(request + REMOTE + 8);
    long before = (long) LONG.getAcquire(ALL, word);
    boolean add = opcode == IbverbsTypes.IBV_WR_ATOMIC_FETCH_AND_ADD();
    if (add || before == operand) {
      long after = add ? before + operand : getLong(request + REMOTE + 16);
      LONG.setRelease(ALL, word, after);
    }
    setLong(result, before);
  }

  /** A word is never torn, and what was moved before it is seen with it. */
  private static void move(long from, long to, int length) {
    if (length == Long.BYTES && (to & 7) == 0) {
      LONG.setRelease(ALL, to, ALL.get(ValueLayout.JAVA_LONG_UNALIGNED, from));
    } else if (length == Integer.BYTES && (to & 3) == 0) {
      INT.setRelease(ALL, to, ALL.get(ValueLayout.JAVA_INT_UNALIGNED, from));
    } else {
      MemorySegment.copy(ALL, from, ALL, to, length);
    }
  }

  private boolean reaches(int key, long address, long bytes, int access) {
    int place = key - FIRST_KEY;
    Region region = place >= 0 && place < regions.length ? regions[place] : null;
    return region != null
        && (region.access & access) == access
        && address >= region.address
        && address + bytes <= region.address + region.length;
  }

  @SuppressWarnings("UnusedMethod") // a function of the context
  private synchronized int postReceive(long qp, long first, long refused) {
    Pair pair = pair(getInt(qp + ibv_qp.qp_num$offset()));
    for (long at = first; at != 0; at = getLong(at + ibv_recv_wr.next$offset())) {
      if (pair == null || pair.receiveTail - pair.receiveHead == pair.receiveDepth) {
        setLong(refused, at);
        return Errno.ENOMEM;
      }
      pair.receives[(int) (pair.receiveTail++ % pair.receives.length)] = getLong(at);
    }
    return 0;
  }

  @SuppressWarnings("UnusedMethod") // a function of the context
  private synchronized int poll(long cq, int most, long into) {
    Queue queue = queues[getInt(cq + QUEUE_PLACE)];
    int taken = 0;
    while (queue != null && !holdsCompletions && taken < most && queue.head < queue.tail) {
      long row = queue.row(queue.head++);
      MemorySegment.copy(ALL, row, ALL, into + taken * ibv_wc.sizeof(), ibv_wc.sizeof());
      acknowledge(row);
      taken++;
    }
    return taken;
  }

  /** The completion of a send frees its place and those of all before it. */
  private void acknowledge(long row) {
    Pair pair = pair(getInt(row + ibv_wc.qp_num$offset()));
    if (pair != null && getInt(row + ibv_wc.opcode$offset()) < IbverbsTypes.IBV_WC_RECV()) {
      pair.acknowledged = getInt(row + ibv_wc.src_qp$offset());
    }
  }

  /** The control path; what it shares with the network is guarded by the fabric. */
  private final class Control implements Driver {

    @Override
    public List<Found> devices() {
      return List.of(new Found("fabric0", 0x5678, 1, 0));
    }

    @Override
    public MemorySegment openDevice(String name) {
      synchronized (Fabric.this) {
        MemorySegment context = arena.allocate(ibv_context.layout());
        ibv_context.ops(context).copyFrom(ops);
        pairsByContext.put(context.address(), new ArrayList<>());
        openers.put(context.address(), Thread.currentThread());
        return context;
      }
    }

    @Override
    public void closeDevice(MemorySegment context) {}

    @Override
    public void queryDevice(MemorySegment opened, MemorySegment attr) {
      ibv_device_attr.max_mr_size(attr, 1L << 40);
      ibv_device_attr.max_qp(attr, 1024);
      ibv_device_attr.max_qp_wr(attr, 4096);
      ibv_device_attr.max_sge(attr, MOST_PIECES);
      ibv_device_attr.max_cq(attr, 1024);
      ibv_device_attr.max_cqe(attr, 32767);
      ibv_device_attr.max_mr(attr, 1024);
      ibv_device_attr.max_pd(attr, 1024);
      ibv_device_attr.max_qp_rd_atom(attr, 16);
      ibv_device_attr.max_qp_init_rd_atom(attr, 16);
      ibv_device_attr.atomic_cap(attr, atomics.ordinal());
      ibv_device_attr.phys_port_cnt(attr, (byte) 1);
    }

    @Override
    public void queryPort(MemorySegment opened, int port, MemorySegment attr) {
      ibv_port_attr.state(attr, List.of(PortState.values()).indexOf(PortState.ACTIVE));
      ibv_port_attr.max_mtu(attr, 5);
      ibv_port_attr.active_mtu(attr, Mtu.MTU_1024.value());
      ibv_port_attr.gid_tbl_len(attr, 16);
      ibv_port_attr.max_msg_sz(attr, 1 << 23);
      ibv_port_attr.link_layer(
          attr, (byte) List.of(LinkLayer.values()).indexOf(LinkLayer.ETHERNET));
    }

    @Override
    public long queryGidTable(MemorySegment opened, MemorySegment entries, long max) {
      MemorySegment entry = ibv_gid_entry.asSlice(entries, 0);
      new Gid(0, 0xffff_7f00_0001L).write(ibv_gid_entry.gid(entry), 0); // ::ffff:127.0.0.1
      ibv_gid_entry.gid_index(entry, 0);
      ibv_gid_entry.port_num(entry, 1);
      ibv_gid_entry.gid_type(entry, GidType.ROCE_V2.value());
      return 1;
    }

    @Override
    public MemorySegment allocPd(MemorySegment opened) {
      synchronized (Fabric.this) {
        MemorySegment domain = arena.allocate(16, 8);
        contextOfDomain.put(domain.address(), opened.address());
        return domain;
      }
    }

    @Override
    public void deallocPd(MemorySegment pd) {}

    @Override
    public MemorySegment regMr(MemorySegment pd, MemorySegment memory, long length, int access) {
      synchronized (Fabric.this) {
        MemorySegment mr = arena.allocate(ibv_mr.layout());
        if (regionCount == regions.length) {
          regions = Arrays.copyOf(regions, regionCount * 2);
        }
        regions[regionCount] = new Region(memory.address(), length, access);
        ibv_mr.lkey(mr, FIRST_KEY + regionCount);
        ibv_mr.rkey(mr, FIRST_KEY + regionCount);
        regionCount++;
        return mr;
      }
    }

    @Override
    public void deregMr(MemorySegment mr) {
      synchronized (Fabric.this) {
        regions[ibv_mr.rkey(mr) - FIRST_KEY] = null;
      }
    }

    @Override
    public MemorySegment createCompChannel(MemorySegment opened) throws Errno {
      throw new Errno(Errno.EINVAL);
    }

    @Override
    public void destroyCompChannel(MemorySegment channel) {}

    @Override
    public boolean isReadable(int descriptor, int millis) {
      return false;
    }

    @Override
    public void takeCqEvent(MemorySegment channel) throws Errno {
      throw new Errno(Errno.EINVAL);
    }

    @Override
    public void takeAsyncEvent(MemorySegment context, MemorySegment event) throws Errno {
      throw new Errno(Errno.EINVAL);
    }

    @Override
    public MemorySegment createCq(MemorySegment opened, int entries, MemorySegment channel) {
      synchronized (Fabric.this) {
        MemorySegment cq = arena.allocate(QUEUE_PLACE + 8, 8);
        ibv_cq.context(cq, opened);
        ibv_cq.cqe(cq, entries);
        if (queueCount == queues.length) {
          queues = Arrays.copyOf(queues, queueCount * 2);
        }
        Queue queue = new Queue(arena, entries);
        queues[queueCount] = queue;
        setInt(cq.address() + QUEUE_PLACE, queueCount++);
        queuesByHandle.put(cq.address(), queue);
        return cq;
      }
    }

    @Override
    public void destroyCq(MemorySegment cq) {
      synchronized (Fabric.this) {
        queues[getInt(cq.address() + QUEUE_PLACE)] = null;
        queuesByHandle.remove(cq.address());
      }
    }

    @Override
    public MemorySegment createQp(MemorySegment pd, MemorySegment init) throws Errno {
      synchronized (Fabric.this) {
        MemorySegment cap = ibv_qp_init_attr.cap(init);
        if (ibv_qp_cap.max_inline_data(cap) > mostInline) {
          throw new Errno(Errno.EINVAL);
        }
        MemorySegment qp = arena.allocate(ibv_qp.layout());
        long context = Objects.requireNonNull(contextOfDomain.get(pd.address()));
        ibv_qp.context(qp, MemorySegment.ofAddress(context));
        ibv_qp.qp_num(qp, FIRST_PAIR + pairCount);
        Pair pair =
            new Pair(
                arena,
                FIRST_PAIR + pairCount,
                cap,
                Objects.requireNonNull(
                    queuesByHandle.get(ibv_qp_init_attr.send_cq(init).address())),
                Objects.requireNonNull(
                    queuesByHandle.get(ibv_qp_init_attr.recv_cq(init).address())));
        if (pairCount == pairs.length) {
          pairs = Arrays.copyOf(pairs, pairCount * 2);
        }
        pairs[pairCount++] = pair;
        Objects.requireNonNull(pairsByContext.get(context)).add(pair);
        return qp;
      }
    }

    @Override
    public void modifyQp(MemorySegment qp, MemorySegment attr, int mask) {
      synchronized (Fabric.this) {
        Pair pair = pair(ibv_qp.qp_num(qp));
        if (pair != null) {
          pair.state = ibv_qp_attr.qp_state(attr);
          if ((mask & IbverbsTypes.IBV_QP_DEST_QPN()) != 0) {
            pair.destination = ibv_qp_attr.dest_qp_num(attr);
          }
        }
      }
    }

    @Override
    public void queryQp(MemorySegment qp, MemorySegment attr, int mask, MemorySegment init) {
      synchronized (Fabric.this) {
        Pair pair = pair(ibv_qp.qp_num(qp));
        ibv_qp_attr.qp_state(attr, pair == null ? IbverbsTypes.IBV_QPS_ERR() : pair.state);
      }
    }

    @Override
    public void destroyQp(MemorySegment qp) {
      synchronized (Fabric.this) {
        pairs[ibv_qp.qp_num(qp) - FIRST_PAIR] = null;
      }
    }
  }
}
