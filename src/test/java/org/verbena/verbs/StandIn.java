package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.function.IntUnaryOperator;
import org.verbena.ffi.IbverbsTypes;
import org.verbena.ffi.ibv_ah;
import org.verbena.ffi.ibv_ah_attr;
import org.verbena.ffi.ibv_async_event;
import org.verbena.ffi.ibv_comp_channel;
import org.verbena.ffi.ibv_context;
import org.verbena.ffi.ibv_context_ops;
import org.verbena.ffi.ibv_cq;
import org.verbena.ffi.ibv_device_attr;
import org.verbena.ffi.ibv_device_attr_ex;
import org.verbena.ffi.ibv_gid_entry;
import org.verbena.ffi.ibv_mr;
import org.verbena.ffi.ibv_odp_caps;
import org.verbena.ffi.ibv_port_attr;
import org.verbena.ffi.ibv_qp;
import org.verbena.ffi.ibv_qp_attr;
import org.verbena.ffi.ibv_qp_cap;
import org.verbena.ffi.ibv_qp_ex;
import org.verbena.ffi.ibv_qp_init_attr;
import org.verbena.ffi.ibv_qp_init_attr_ex;
import org.verbena.ffi.ibv_recv_wr;
import org.verbena.ffi.ibv_send_wr;
import org.verbena.ffi.ibv_sge;
import org.verbena.ffi.ibv_srq;
import org.verbena.ffi.ibv_srq_attr;
import org.verbena.ffi.ibv_tso_caps;
import org.verbena.ffi.ibv_wc;

/**
 * A device made of Java: a context whose function pointers are upcalls. Requests are carried out at
 * once, within this process; what goes wrong, and when completions come, is the test's to say.
 */
@SuppressWarnings("restricted")
final class StandIn implements Driver {
  private static final int OFFSET_REMOTE = 40;
  private static final int FIRST_QUEUE_PAIR = 0x11;
  private static final int ASYNC_DESCRIPTOR = 7;

  /** A registered region. */
  private record Region(long address, long length, int access) {}

  /** A work request as the device saw it. */
  record Seen(
      long id,
      int opcode,
      int flags,
      int immediate,
      long remoteAddress,
      int remoteKey,
      long operand,
      long swap,
      int atomicKey,
      List<Piece> pieces) {}

  record Piece(long address, int length, int key) {}

  /** A call of modify_qp. */
  record Modification(int mask, MemorySegment attributes) {}

  private static final class FakeQp {
    final MemorySegment handle;
    final Queue<MemorySegment> receives;
    final boolean datagram;
    int state;
    int destination;
    boolean signalAll;

    int qkey;

    FakeQp(MemorySegment handle, Queue<MemorySegment> receives) {
      this.handle = handle;
      this.receives = receives;
      this.datagram = ibv_qp.qp_type(handle) == IbverbsTypes.IBV_QPT_UD();
    }
  }

  private final Arena arena = Arena.ofAuto();
  private final MemorySegment context = arena.allocate(ibv_context.layout());
  private final Map<Integer, FakeQp> queuePairs = new HashMap<>();
  private final Map<Integer, Region> regions = new HashMap<>();
  private final Map<Long, Deque<MemorySegment>> completions = new HashMap<>();
  private final Queue<MemorySegment> asyncEvents = new ArrayDeque<>();

  private final Map<Long, Queue<MemorySegment>> sharedReceives = new HashMap<>();
  private final Map<Long, MemorySegment> addresses = new HashMap<>();
  private final Map<Long, Integer> limits = new HashMap<>();

  final List<String> calls = new ArrayList<>();
  final List<Seen> seen = new ArrayList<>();
  final List<Modification> modifications = new ArrayList<>();
  final List<GidEntry> gids = new ArrayList<>();
  final Map<String, Integer> errors = new HashMap<>();
  final List<Found> devices = new ArrayList<>(List.of(new Found("fake0", 0x1234, 1, 0)));
  final Map<String, Integer> openErrors = new HashMap<>();

  PortState portState = PortState.ACTIVE;
  LinkLayer linkLayer = LinkLayer.ETHERNET;
  Mtu activeMtu = Mtu.MTU_1024;
  int lid;
  int mostInline = 512;
  int atomics = 1;
  int readDepth = 16;
  int completionQueueEntries;
  boolean holdCompletions;
  boolean reverseCompletions;
  boolean dropFlushes;
  int completionEvents;
  Runnable whenWoken = () -> {};
  Runnable whenArmed = () -> {};

  Duration callLimit = Duration.ofSeconds(10);

  private Provider provider = Provider.UNKNOWN;

  /** The result of a post of so many requests; 0 carries them out. */
  IntUnaryOperator postResult = _ -> 0;

  /** How many requests of a refused post are carried out. */
  int acceptedOfRefused;

  private int nextKey = 0x100;
  private int nextQueuePair = FIRST_QUEUE_PAIR;

  StandIn() {
    MemorySegment ops = ibv_context.ops(context);
    ibv_context_ops.post_send(ops, ibv_context_ops.post_send.allocate(this::postSend, arena));
    ibv_context_ops.post_recv(ops, ibv_context_ops.post_recv.allocate(this::postRecv, arena));
    ibv_context_ops.post_srq_recv(
        ops, ibv_context_ops.post_srq_recv.allocate(this::postSrqRecv, arena));
    ibv_context_ops.poll_cq(ops, ibv_context_ops.poll_cq.allocate(this::pollCq, arena));
    ibv_context_ops.req_notify_cq(
        ops, ibv_context_ops.req_notify_cq.allocate(this::requestNotify, arena));
    ibv_context.async_fd(context, ASYNC_DESCRIPTOR);
    gids.add(
        new GidEntry(1, 1, new Gid(0, 0xffff_0a00_0001L), GidType.ROCE_V2, 2)); // ::ffff:10.0.0.1
  }

  Context open() {
    return Context.open(this, "fake0");
  }

  /** The path of its one port. */
  RdmaPath path(Context opened) {
    GidEntry gid = gids.getLast();
    return new RdmaPath(opened.name(), opened.port(1), gid.index(), gid.gid(), gid.type());
  }

  private void call(String verb) throws Errno {
    calls.add(verb);
    Integer errno = errors.get(verb);
    if (errno != null) {
      throw new Errno(errno);
    }
  }

  private static MemorySegment at(MemorySegment pointer, long bytes) {
    return MemorySegment.ofAddress(pointer.address()).reinterpret(bytes);
  }

  // Data path

  private synchronized int postSend(MemorySegment qp, MemorySegment wr, MemorySegment bad) {
    List<MemorySegment> chain = chain(wr, ibv_send_wr.sizeof());
    int result = postResult.applyAsInt(chain.size());
    int accepted = result == 0 ? chain.size() : acceptedOfRefused;
    FakeQp from = queuePair(qp);
    chain.subList(0, accepted).forEach(request -> send(from, request));
    if (result != 0) {
      at(bad, 8).set(ValueLayout.JAVA_LONG, 0, chain.get(accepted).address());
    }
    return result;
  }

  private synchronized int postRecv(MemorySegment qp, MemorySegment wr, MemorySegment bad) {
    return postRecv(queuePair(qp).receives, wr, bad);
  }

  private synchronized int postSrqRecv(MemorySegment srq, MemorySegment wr, MemorySegment bad) {
    return postRecv(Objects.requireNonNull(sharedReceives.get(srq.address())), wr, bad);
  }

  private int postRecv(Queue<MemorySegment> receives, MemorySegment wr, MemorySegment bad) {
    List<MemorySegment> chain = chain(wr, ibv_recv_wr.sizeof());
    int result = postResult.applyAsInt(chain.size());
    int accepted = result == 0 ? chain.size() : acceptedOfRefused;
    for (MemorySegment request : chain.subList(0, accepted)) {
      MemorySegment copy = arena.allocate(ibv_recv_wr.layout());
      copy.copyFrom(request);
      List<Piece> pieces = pieces(request);
      MemorySegment list = ibv_sge.allocateArray(Math.max(pieces.size(), 1), arena);
      for (int i = 0; i < pieces.size(); i++) {
        MemorySegment entry = ibv_sge.asSlice(list, i);
        ibv_sge.addr(entry, pieces.get(i).address);
        ibv_sge.length(entry, pieces.get(i).length);
        ibv_sge.lkey(entry, pieces.get(i).key);
      }
      ibv_recv_wr.sg_list(copy, list);
      receives.add(copy);
    }
    if (result != 0) {
      at(bad, 8).set(ValueLayout.JAVA_LONG, 0, chain.get(accepted).address());
    }
    return result;
  }

  private static List<MemorySegment> chain(MemorySegment first, long bytes) {
    List<MemorySegment> chain = new ArrayList<>();
    for (long next = first.address(); next != 0; ) {
      MemorySegment request = MemorySegment.ofAddress(next).reinterpret(bytes);
      chain.add(request);
      next = ibv_recv_wr.next(request).address();
    }
    return chain;
  }

  private static List<Piece> pieces(MemorySegment request) {
    List<Piece> pieces = new ArrayList<>();
    MemorySegment list = at(ibv_recv_wr.sg_list(request), 1 << 20);
    for (int i = 0; i < ibv_recv_wr.num_sge(request); i++) {
      MemorySegment entry = ibv_sge.asSlice(list, i);
      pieces.add(new Piece(ibv_sge.addr(entry), ibv_sge.length(entry), ibv_sge.lkey(entry)));
    }
    return pieces;
  }

  private FakeQp queuePair(MemorySegment qp) {
    FakeQp found = queuePairs.get(ibv_qp.qp_num(at(qp, ibv_qp.sizeof())));
    if (found == null) {
      throw new IllegalStateException("a call on a queue pair that was destroyed");
    }
    return found;
  }

  private void send(FakeQp from, MemorySegment request) {
    int opcode = ibv_send_wr.opcode(request);
    int flags = ibv_send_wr.send_flags(request);
    MemorySegment atomic = request.asSlice(OFFSET_REMOTE);
    Seen as =
        new Seen(
            ibv_send_wr.wr_id(request),
            opcode,
            flags,
            ibv_send_wr.imm_data(request),
            atomic.get(ValueLayout.JAVA_LONG, 0),
            ibv_send_wr.wr.rdma.rkey(ibv_send_wr.wr.rdma(ibv_send_wr.wr(request))),
            atomic.get(ValueLayout.JAVA_LONG, 8),
            atomic.get(ValueLayout.JAVA_LONG, 16),
            atomic.get(ValueLayout.JAVA_INT, 24),
            pieces(request));
    seen.add(as);
    boolean flushed = from.state == IbverbsTypes.IBV_QPS_ERR();
    int status = flushed ? IbverbsTypes.IBV_WC_WR_FLUSH_ERR() : carryOut(from, as);
    if (status != 0) {
      from.state = IbverbsTypes.IBV_QPS_ERR();
    }
    boolean signaled = from.signalAll || (flags & IbverbsTypes.IBV_SEND_SIGNALED()) != 0;
    if ((signaled || status != 0) && !(flushed && dropFlushes)) {
      complete(ibv_qp.send_cq(from.handle), as.id, status, opcodeOf(opcode), 0, from.handle);
    }
  }

  private static int opcodeOf(int request) {
    return switch (request) {
      case 0, 1 -> IbverbsTypes.IBV_WC_RDMA_WRITE();
      case 2, 3 -> IbverbsTypes.IBV_WC_SEND();
      case 4 -> IbverbsTypes.IBV_WC_RDMA_READ();
      case 5 -> IbverbsTypes.IBV_WC_COMP_SWAP();
      default -> IbverbsTypes.IBV_WC_FETCH_ADD();
    };
  }

  /** Does what the request says; returns a status. */
  private int carryOut(FakeQp from, Seen as) {
    long bytes = as.pieces.stream().mapToLong(Piece::length).sum();
    if (from.datagram) {
      return sendDatagram(from, as, bytes);
    }
    FakeQp to = queuePairs.get(from.destination);
    if (to == null) {
      return IbverbsTypes.IBV_WC_RETRY_EXC_ERR();
    }
    return switch (as.opcode) {
      case 0, 1 -> write(to, as, bytes);
      case 2, 3 -> deliver(to, as.pieces, bytes, as, bytes);
      case 4 -> read(as, bytes);
      default -> atomic(as);
    };
  }

  /** What nobody receives, or with the wrong key, is lost, and nobody is told. */
  private int sendDatagram(FakeQp from, Seen as, long bytes) {
    MemorySegment ah = addresses.get(as.remoteAddress);
    FakeQp to = queuePairs.get(as.remoteKey);
    int qkey = (int) (as.operand >>> 32);
    if (ah == null) {
      return IbverbsTypes.IBV_WC_LOC_QP_OP_ERR();
    }
    if (to != null && to.qkey == qkey && !to.receives.isEmpty()) {
      MemorySegment route = arena.allocate(AddressHandle.ROUTE_BYTES);
      List<Piece> pieces = new ArrayList<>(as.pieces);
      pieces.addFirst(new Piece(route.address(), AddressHandle.ROUTE_BYTES, 0));
      long all = bytes + AddressHandle.ROUTE_BYTES;
      deliver(to, pieces, all, as, all);
      MemorySegment wc = completionsOf(ibv_qp.recv_cq(to.handle)).peekLast();
      ibv_wc.src_qp(wc, ibv_qp.qp_num(from.handle));
      ibv_wc.wc_flags(wc, ibv_wc.wc_flags(wc) | IbverbsTypes.IBV_WC_GRH());
    }
    return 0;
  }

  private int write(FakeQp to, Seen as, long bytes) {
    if (!reaches(as.remoteKey, as.remoteAddress, bytes, IbverbsTypes.IBV_ACCESS_REMOTE_WRITE())) {
      return IbverbsTypes.IBV_WC_REM_ACCESS_ERR();
    }
    gather(as.pieces, memory(as.remoteAddress, bytes));
    return as.opcode == 0 ? 0 : deliver(to, List.of(), 0, as, bytes);
  }

  private int read(Seen as, long bytes) {
    if (!reaches(as.remoteKey, as.remoteAddress, bytes, IbverbsTypes.IBV_ACCESS_REMOTE_READ())) {
      return IbverbsTypes.IBV_WC_REM_ACCESS_ERR();
    }
    scatter(memory(as.remoteAddress, bytes), as.pieces);
    return 0;
  }

  private int atomic(Seen as) {
    if (!reaches(as.atomicKey, as.remoteAddress, 8, IbverbsTypes.IBV_ACCESS_REMOTE_ATOMIC())) {
      return IbverbsTypes.IBV_WC_REM_ACCESS_ERR();
    }
    MemorySegment word = memory(as.remoteAddress, 8);
    long before = word.get(ValueLayout.JAVA_LONG, 0);
    boolean add = as.opcode == IbverbsTypes.IBV_WR_ATOMIC_FETCH_AND_ADD();
    if (add || before == as.operand) {
      word.set(ValueLayout.JAVA_LONG, 0, add ? before + as.operand : as.swap);
    }
    memory(as.pieces.getFirst().address, 8).set(ValueLayout.JAVA_LONG, 0, before);
    return 0;
  }

  private int deliver(FakeQp to, List<Piece> from, long bytes, Seen as, long told) {
    MemorySegment receive = to.receives.poll();
    if (receive == null) {
      return IbverbsTypes.IBV_WC_RNR_RETRY_EXC_ERR();
    }
    announceLimit(to);
    List<Piece> into = pieces(receive);
    if (bytes > into.stream().mapToLong(Piece::length).sum()) {
      return IbverbsTypes.IBV_WC_REM_INV_REQ_ERR();
    }
    MemorySegment message = arena.allocate(Math.max(bytes, 1));
    gather(from, message);
    scatter(message.asSlice(0, bytes), into);
    boolean immediate = as.opcode == 1 || as.opcode == 3;
    complete(
        ibv_qp.recv_cq(to.handle),
        ibv_recv_wr.wr_id(receive),
        0,
        as.opcode == 1 ? IbverbsTypes.IBV_WC_RECV_RDMA_WITH_IMM() : IbverbsTypes.IBV_WC_RECV(),
        (int) told,
        to.handle);
    if (immediate) {
      MemorySegment last = completionsOf(ibv_qp.recv_cq(to.handle)).peekLast();
      ibv_wc.imm_data(last, as.immediate);
      ibv_wc.wc_flags(last, IbverbsTypes.IBV_WC_WITH_IMM());
    }
    return 0;
  }

  private void announceLimit(FakeQp to) {
    long srq = ibv_qp.srq(to.handle).address();
    int limit = limits.getOrDefault(srq, 0);
    if (to.receives.size() < limit) {
      limits.put(srq, 0);
      addAsyncEvent(IbverbsTypes.IBV_EVENT_SRQ_LIMIT_REACHED(), srq);
    }
  }

  private boolean reaches(int key, long address, long bytes, int access) {
    Region region = regions.get(key);
    return region != null
        && (region.access & access) != 0
        && address >= region.address
        && address + bytes <= region.address + region.length;
  }

  private static MemorySegment memory(long address, long bytes) {
    return MemorySegment.ofAddress(address).reinterpret(bytes);
  }

  private static void gather(List<Piece> from, MemorySegment to) {
    long done = 0;
    for (Piece piece : from) {
      MemorySegment.copy(memory(piece.address, piece.length), 0, to, done, piece.length);
      done += piece.length;
    }
  }

  private static void scatter(MemorySegment from, List<Piece> to) {
    long done = 0;
    for (Piece piece : to) {
      long bytes = Math.min(piece.length, from.byteSize() - done);
      MemorySegment.copy(from, done, memory(piece.address, piece.length), 0, bytes);
      done += bytes;
    }
  }

  private void complete(
      MemorySegment cq, long id, int status, int opcode, int bytes, MemorySegment qp) {
    MemorySegment wc = arena.allocate(ibv_wc.layout());
    ibv_wc.wr_id(wc, id);
    ibv_wc.status(wc, status);
    ibv_wc.qp_num(wc, ibv_qp.qp_num(qp));
    if (status == 0) {
      ibv_wc.opcode(wc, opcode);
      ibv_wc.byte_len(wc, bytes);
    } else {
      ibv_wc.opcode(wc, 0x5eed);
      ibv_wc.byte_len(wc, 0x5eed);
      ibv_wc.vendor_err(wc, 0x77);
    }
    addCompletion(cq, wc);
  }

  /** Puts a completion into the queue of {@code cq} as it is. */
  synchronized void addCompletion(MemorySegment cq, MemorySegment wc) {
    completionsOf(cq).add(wc);
  }

  private Deque<MemorySegment> completionsOf(MemorySegment cq) {
    Deque<MemorySegment> found = completions.get(cq.address());
    if (found == null) {
      throw new IllegalStateException("a call on a completion queue that was destroyed");
    }
    return found;
  }

  /** A completion of request {@code id}, with that status. */
  MemorySegment completion(long id, int status, int queuePair) {
    MemorySegment wc = arena.allocate(ibv_wc.layout());
    ibv_wc.wr_id(wc, id);
    ibv_wc.status(wc, status);
    ibv_wc.qp_num(wc, queuePair);
    return wc;
  }

  private synchronized int pollCq(MemorySegment cq, int most, MemorySegment into) {
    Integer errno = errors.get("poll_cq");
    if (errno != null) {
      return -errno;
    }
    Deque<MemorySegment> waiting = completionsOf(cq);
    int taken = 0;
    while (!holdCompletions && taken < most && !waiting.isEmpty()) {
      MemorySegment row =
          MemorySegment.ofAddress(into.address() + taken * ibv_wc.sizeof())
              .reinterpret(ibv_wc.sizeof());
      row.copyFrom(reverseCompletions ? waiting.removeLast() : waiting.remove());
      taken++;
    }
    return taken;
  }

  private int requestNotify(MemorySegment cq, int solicited) {
    calls.add("req_notify_cq " + solicited);
    whenArmed.run();
    return errors.getOrDefault("req_notify_cq", 0);
  }

  // Control path

  @Override
  public List<Found> devices() throws Errno {
    call("get_device_list");
    return devices;
  }

  @Override
  public MemorySegment openDevice(String name) throws Errno {
    call("open_device");
    Integer errno = openErrors.get(name);
    if (errno != null) {
      throw new Errno(errno);
    }
    if (devices.stream().noneMatch(found -> found.name().equals(name))) {
      throw new Errno(Errno.ENODEV);
    }
    return context;
  }

  @Override
  public void closeDevice(MemorySegment closed) throws Errno {
    call("close_device");
  }

  @Override
  public void queryDevice(MemorySegment opened, MemorySegment attr) throws Errno {
    call("query_device");
    ibv_device_attr.fw_ver(attr).setString(0, "1.2.3");
    ibv_device_attr.node_guid(attr, Long.reverseBytes(0x1234));
    ibv_device_attr.max_mr_size(attr, 1L << 40);
    ibv_device_attr.max_qp(attr, 1024);
    ibv_device_attr.max_qp_wr(attr, 4096);
    ibv_device_attr.max_sge(attr, 32);
    ibv_device_attr.max_cq(attr, 1024);
    ibv_device_attr.max_cqe(attr, 32767);
    ibv_device_attr.max_mr(attr, 1024);
    ibv_device_attr.max_pd(attr, 1024);
    ibv_device_attr.max_qp_rd_atom(attr, readDepth);
    ibv_device_attr.max_qp_init_rd_atom(attr, readDepth);
    ibv_device_attr.atomic_cap(attr, atomics);
    ibv_device_attr.phys_port_cnt(attr, (byte) 1);
    ibv_device_attr.max_srq_wr(attr, 2048);
    ibv_device_attr.max_srq_sge(attr, 16);
  }

  @Override
  public void queryPort(MemorySegment opened, int port, MemorySegment attr) throws Errno {
    call("query_port");
    ibv_port_attr.state(attr, List.of(PortState.values()).indexOf(portState));
    ibv_port_attr.max_mtu(attr, 5);
    ibv_port_attr.active_mtu(attr, activeMtu.value());
    ibv_port_attr.gid_tbl_len(attr, 1024);
    ibv_port_attr.pkey_tbl_len(attr, (short) 4);
    ibv_port_attr.max_msg_sz(attr, 1 << 23);
    ibv_port_attr.lid(attr, (short) lid);
    ibv_port_attr.link_layer(attr, (byte) List.of(LinkLayer.values()).indexOf(linkLayer));
  }

  @Override
  public long queryGidTable(MemorySegment opened, MemorySegment entries, long max) throws Errno {
    call("query_gid_table");
    for (int i = 0; i < gids.size(); i++) {
      MemorySegment entry = ibv_gid_entry.asSlice(entries, i);
      gids.get(i).gid().write(ibv_gid_entry.gid(entry), 0);
      ibv_gid_entry.gid_index(entry, gids.get(i).index());
      ibv_gid_entry.port_num(entry, gids.get(i).port());
      ibv_gid_entry.gid_type(entry, gids.get(i).type().value());
      ibv_gid_entry.ndev_ifindex(entry, gids.get(i).networkInterface());
    }
    return gids.size();
  }

  @Override
  public MemorySegment allocPd(MemorySegment opened) throws Errno {
    call("alloc_pd");
    return arena.allocate(16, 8);
  }

  @Override
  public void deallocPd(MemorySegment pd) throws Errno {
    call("dealloc_pd");
  }

  @Override
  public MemorySegment regMr(MemorySegment pd, MemorySegment memory, long length, int access)
      throws Errno {
    call("reg_mr");
    MemorySegment mr = arena.allocate(ibv_mr.layout());
    int key = nextKey++;
    ibv_mr.lkey(mr, key);
    ibv_mr.rkey(mr, key | 0x8000);
    regions.put(key | 0x8000, new Region(memory.address(), length, access));
    return mr;
  }

  @Override
  public MemorySegment regDmaBuf(
      MemorySegment pd, long offset, long length, long address, int descriptor, int access)
      throws Errno {
    call(
        "reg_dmabuf_mr offset %d length %d at %d of %d"
            .formatted(offset, length, address, descriptor));
    return regMr(pd, MemorySegment.ofAddress(address), length, access);
  }

  @Override
  public void reregMr(MemorySegment mr, int flags, MemorySegment memory, long length, int access)
      throws Errno {
    call("rereg_mr " + flags);
    Region before = Objects.requireNonNull(regions.remove(ibv_mr.rkey(mr)));
    boolean moves = (flags & IbverbsTypes.IBV_REREG_MR_CHANGE_TRANSLATION()) != 0;
    int key = nextKey++;
    ibv_mr.lkey(mr, key);
    ibv_mr.rkey(mr, key | 0x8000);
    regions.put(
        key | 0x8000,
        new Region(
            moves ? memory.address() : before.address,
            moves ? length : before.length,
            (flags & IbverbsTypes.IBV_REREG_MR_CHANGE_ACCESS()) != 0 ? access : before.access));
  }

  @Override
  public void queryDeviceEx(MemorySegment opened, MemorySegment attr) throws Errno {
    call("query_device_ex");
    ibv_device_attr_ex.device_cap_flags_ex(attr, 1L << 40);
    ibv_odp_caps.general_caps(ibv_device_attr_ex.odp_caps(attr), 3);
    ibv_device_attr_ex.completion_timestamp_mask(attr, 0xff);
    ibv_device_attr_ex.hca_core_clock(attr, 156250);
    ibv_device_attr_ex.max_dm_size(attr, 1 << 17);
    ibv_tso_caps.max_tso(ibv_device_attr_ex.tso_caps(attr), 1 << 18);
  }

  /** The access flags that a region was registered with. */
  int accessOf(RemoteKey key) {
    return Objects.requireNonNull(regions.get(key.value())).access;
  }

  @Override
  public void deregMr(MemorySegment mr) throws Errno {
    call("dereg_mr");
    regions.remove(ibv_mr.rkey(mr));
  }

  @Override
  public MemorySegment createCompChannel(MemorySegment opened) throws Errno {
    call("create_comp_channel");
    MemorySegment channel = ibv_comp_channel.allocate(arena);
    ibv_comp_channel.fd(channel, ASYNC_DESCRIPTOR + 1);
    return channel;
  }

  @Override
  public void destroyCompChannel(MemorySegment channel) throws Errno {
    call("destroy_comp_channel");
  }

  @Override
  public boolean isReadable(int descriptor, int millis) {
    return descriptor == ASYNC_DESCRIPTOR ? !asyncEvents.isEmpty() : completionEvents > 0;
  }

  @Override
  public void takeCqEvent(MemorySegment channel) throws Errno {
    call("get_cq_event");
    completionEvents--;
    whenWoken.run();
  }

  @Override
  public void takeAsyncEvent(MemorySegment opened, MemorySegment event) throws Errno {
    call("get_async_event");
    event.copyFrom(asyncEvents.remove());
  }

  /** Lets an event come that has this element: a pointer, or a number of a port. */
  void addAsyncEvent(int type, long element) {
    MemorySegment event = ibv_async_event.allocate(arena);
    ibv_async_event.event_type(event, type);
    event.set(ValueLayout.JAVA_LONG, 0, element);
    asyncEvents.add(event);
  }

  @Override
  public MemorySegment createCq(MemorySegment opened, int entries, MemorySegment channel)
      throws Errno {
    call("create_cq");
    MemorySegment cq = arena.allocate(ibv_cq.layout());
    ibv_cq.context(cq, context);
    ibv_cq.cqe(cq, Math.max(entries, completionQueueEntries));
    completions.put(cq.address(), new ArrayDeque<>());
    return cq;
  }

  @Override
  public synchronized void resizeCq(MemorySegment cq, int entries) throws Errno {
    call("resize_cq");
    if (completionsOf(cq).size() > entries) {
      throw new Errno(Errno.EINVAL);
    }
    ibv_cq.cqe(cq, entries);
  }

  @Override
  public synchronized void destroyCq(MemorySegment cq) throws Errno {
    call("destroy_cq");
    completions.remove(cq.address());
  }

  @Override
  public MemorySegment createSrq(MemorySegment pd, MemorySegment init) throws Errno {
    call("create_srq");
    MemorySegment srq = arena.allocate(ibv_srq.layout());
    sharedReceives.put(srq.address(), new ArrayDeque<>());
    return srq;
  }

  @Override
  public void modifySrq(MemorySegment srq, MemorySegment attr, int mask) throws Errno {
    call("modify_srq " + mask);
    limits.put(srq.address(), ibv_srq_attr.srq_limit(attr));
  }

  @Override
  public void querySrq(MemorySegment srq, MemorySegment attr) throws Errno {
    call("query_srq");
    ibv_srq_attr.srq_limit(attr, limits.getOrDefault(srq.address(), 0));
  }

  @Override
  public void destroySrq(MemorySegment srq) throws Errno {
    call("destroy_srq");
    sharedReceives.remove(srq.address());
  }

  @Override
  public MemorySegment createAh(MemorySegment pd, MemorySegment attr) throws Errno {
    call("create_ah");
    MemorySegment ah = arena.allocate(ibv_ah.layout());
    MemorySegment copy = arena.allocate(ibv_ah_attr.layout());
    copy.copyFrom(attr);
    addresses.put(ah.address(), copy);
    return ah;
  }

  /** What an address was made with. */
  MemorySegment address(AddressHandle made) {
    return Objects.requireNonNull(addresses.get(made.handle().address()));
  }

  @Override
  public void destroyAh(MemorySegment ah) throws Errno {
    call("destroy_ah");
    addresses.remove(ah.address());
  }

  @Override
  public int queryPkey(MemorySegment opened, int port, int index) throws Errno {
    call("query_pkey");
    return 0xffff - index;
  }

  @Override
  public MemorySegment createQp(MemorySegment pd, MemorySegment init) throws Errno {
    MemorySegment cap = ibv_qp_init_attr.cap(init);
    call("create_qp inline " + ibv_qp_cap.max_inline_data(cap));
    if (ibv_qp_cap.max_inline_data(cap) > mostInline) {
      throw new Errno(Errno.EINVAL);
    }
    MemorySegment qp = arena.allocate(ibv_qp_ex.layout());
    ibv_qp.context(qp, context);
    ibv_qp.send_cq(qp, ibv_qp_init_attr.send_cq(init));
    ibv_qp.recv_cq(qp, ibv_qp_init_attr.recv_cq(init));
    ibv_qp.qp_num(qp, nextQueuePair);
    ibv_qp.qp_type(qp, ibv_qp_init_attr.qp_type(init));
    ibv_qp.srq(qp, ibv_qp_init_attr.srq(init));
    Queue<MemorySegment> shared = sharedReceives.get(ibv_qp.srq(qp).address());
    FakeQp fake = new FakeQp(qp, shared == null ? new ArrayDeque<>() : shared);
    fake.signalAll = ibv_qp_init_attr.sq_sig_all(init) != 0;
    queuePairs.put(nextQueuePair++, fake);
    return qp;
  }

  @Override
  public MemorySegment createQpEx(MemorySegment opened, MemorySegment init) throws Errno {
    call("create_qp_ex " + ibv_qp_init_attr_ex.send_ops_flags(init));
    MemorySegment qp = createQp(ibv_qp_init_attr_ex.pd(init), init);
    ibv_qp_ex.wr_start(qp, ibv_qp_ex.wr_start.allocate(_ -> calls.add("wr_start"), arena));
    ibv_qp_ex.wr_atomic_write(
        qp,
        ibv_qp_ex.wr_atomic_write.allocate(
            (_, key, address, word) -> atomicWrite(qp, key, address, word), arena));
    ibv_qp_ex.wr_complete(
        qp, ibv_qp_ex.wr_complete.allocate(_ -> errors.getOrDefault("wr_complete", 0), arena));
    return qp;
  }

  private void atomicWrite(MemorySegment qp, int key, long address, MemorySegment word) {
    if (errors.containsKey("wr_complete")) {
      return;
    }
    boolean allowed = reaches(key, address, 8, IbverbsTypes.IBV_ACCESS_REMOTE_WRITE());
    if (allowed) {
      memory(address, 8).copyFrom(at(word, 8));
    }
    complete(
        ibv_qp.send_cq(qp),
        ibv_qp_ex.wr_id(qp),
        allowed ? 0 : IbverbsTypes.IBV_WC_REM_ACCESS_ERR(),
        IbverbsTypes.IBV_WC_ATOMIC_WRITE(),
        0,
        qp);
  }

  @Override
  public MemorySegment qpEx(MemorySegment qp) throws Errno {
    call("qp_to_qp_ex");
    return qp;
  }

  @Override
  public synchronized void modifyQp(MemorySegment qp, MemorySegment attr, int mask) throws Errno {
    call("modify_qp " + ibv_qp_attr.qp_state(attr));
    MemorySegment copy = arena.allocate(ibv_qp_attr.layout());
    copy.copyFrom(attr);
    modifications.add(new Modification(mask, copy));
    FakeQp fake = queuePair(qp);
    fake.state = ibv_qp_attr.qp_state(attr);
    if ((mask & IbverbsTypes.IBV_QP_DEST_QPN()) != 0) {
      fake.destination = ibv_qp_attr.dest_qp_num(attr);
    }
    if ((mask & IbverbsTypes.IBV_QP_QKEY()) != 0) {
      fake.qkey = ibv_qp_attr.qkey(attr);
    }
    boolean own = ibv_qp.srq(qp).address() == 0;
    if (own && fake.state == IbverbsTypes.IBV_QPS_ERR() && !dropFlushes) {
      for (MemorySegment receive : fake.receives) {
        complete(
            ibv_qp.recv_cq(qp),
            ibv_recv_wr.wr_id(receive),
            IbverbsTypes.IBV_WC_WR_FLUSH_ERR(),
            0,
            0,
            qp);
      }
      fake.receives.clear();
    }
  }

  @Override
  public void queryQp(MemorySegment qp, MemorySegment attr, int mask, MemorySegment init)
      throws Errno {
    call("query_qp");
    ibv_qp_attr.qp_state(attr, queuePair(qp).state);
  }

  @Override
  public synchronized void destroyQp(MemorySegment qp) throws Errno {
    call("destroy_qp");
    queuePairs.remove(ibv_qp.qp_num(qp));
  }

  @Override
  public Duration callLimit() {
    return callLimit;
  }

  @Override
  public Provider provider(MemorySegment function) {
    return provider;
  }

  /** Puts a function of C behind post_send. No receive may be posted if such posts are critical. */
  void usePostSend(MemorySegment function, Provider of) {
    ibv_context_ops.post_send(ibv_context.ops(context), function);
    provider = of;
  }

  /** Puts functions of C behind post_send and poll_cq. */
  void useFunctions(MemorySegment postSend, MemorySegment pollCq, Provider of) {
    usePostSend(postSend, of);
    ibv_context_ops.poll_cq(ibv_context.ops(context), pollCq);
  }

  /** An immediate value as it lies in a request. */
  static int networkOrder(int value) {
    return ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN ? value : Integer.reverseBytes(value);
  }
}
