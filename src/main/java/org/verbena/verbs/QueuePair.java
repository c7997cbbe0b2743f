package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.verbena.ffi.IbverbsTypes;
import org.verbena.ffi.ibv_qp;
import org.verbena.ffi.ibv_qp_attr;
import org.verbena.ffi.ibv_qp_cap;
import org.verbena.ffi.ibv_qp_ex;
import org.verbena.ffi.ibv_qp_init_attr;
import org.verbena.ffi.ibv_qp_init_attr_ex;

/**
 * A queue pair: reliably connected to one peer, or for datagrams to any. One thread at a time posts
 * sends, one posts receives; any thread may connect, query and close.
 *
 * <p>Sends to one peer take effect in the order in which they were posted, and are told in that
 * order. Datagrams may be lost. After the first request that fails, every post throws its error,
 * until the queue pair is {@link #reset} and connected anew.
 */
public final class QueuePair extends Postable {
  private static final int SEQUENCE_MASK = 0xff_ffff;
  private static final int LOOKUPS = 5;

  private final ProtectionDomain domain;
  private final Context context;
  private final RdmaPath path;
  private final QueuePairOptions options;
  private final boolean datagram;
  private final int qkey;
  private final @Nullable SharedReceiveQueue shared;
  private final MemorySegment handle;
  private final long address;

  /** The extended queue pair, through which atomic writes go, and the word they write. */
  private final @Nullable MemorySegment extended;

  private final MemorySegment word;
  private final int number;
  private final int inlineBytes;
  private final int readDepth;
  private final int packetSequence = ThreadLocalRandom.current().nextInt() & SEQUENCE_MASK;
  private final Set<Access> access;
  private final CompletionQueue sendCompletions;
  private final CompletionQueue receiveCompletions;
  private final FastCalls calls;

  /** Guards the state, the failure and the opening of gates; nothing is waited for under it. */
  private final Object stateLock = new Object();

  private volatile WorkQueue sends;
  private volatile WorkQueue receives;
  private int unsignaled;
  private volatile int initiatorReads;
  private volatile QueuePairState state = QueuePairState.RESET;
  private volatile @Nullable VerbsException failure;

  /**
   * What a queue pair is made of.
   *
   * @param datagram whether it is for datagrams, then with {@code qkey}
   * @param shared where it takes its receives from, if not from a queue of its own
   */
  record Plan(
      RdmaPath path,
      QueuePairOptions options,
      CompletionQueue sends,
      CompletionQueue receives,
      boolean datagram,
      int qkey,
      @Nullable SharedReceiveQueue shared) {
    int receiveDepth() {
      return shared == null ? options.receiveDepth() : 0;
    }

    private Resource[] parents(ProtectionDomain domain) {
      Set<Resource> parents = new LinkedHashSet<>(List.of(domain, sends));
      parents.add(receives);
      if (shared != null) {
        parents.add(shared);
      }
      return parents.toArray(Resource[]::new);
    }
  }

  private QueuePair(
      ProtectionDomain domain,
      Plan plan,
      DeviceAttributes device,
      MemorySegment handle,
      @Nullable MemorySegment extended,
      int inlineBytes) {
    super(plan.parents(domain));
    this.domain = domain;
    this.context = domain.context();
    this.path = plan.path;
    this.options = plan.options;
    this.datagram = plan.datagram;
    this.qkey = plan.qkey;
    this.shared = plan.shared;
    this.handle = handle;
    this.address = handle.address();
    this.extended = extended;
    this.word = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG);
    this.number = ibv_qp.qp_num(handle);
    this.inlineBytes = inlineBytes;
    this.readDepth =
        Math.min(
            options.readDepth(), Math.min(device.maxResponderReads(), device.maxInitiatorReads()));
    this.access = EnumSet.of(Access.REMOTE_WRITE, Access.REMOTE_READ);
    if (device.atomics() != AtomicCapability.NONE) {
      access.add(Access.REMOTE_ATOMIC);
    }
    this.sendCompletions = plan.sends;
    this.receiveCompletions = plan.receives;
    this.calls = context.calls();
    this.sends = WorkQueue.create(this, false, options.sendDepth(), sendCompletions);
    this.receives = WorkQueue.create(this, true, plan.receiveDepth(), receiveCompletions);
    if (shared != null) {
      shared.add(this);
    }
    attach();
  }

  static QueuePair create(ProtectionDomain domain, Plan plan) {
    Context context = domain.context();
    DeviceAttributes device = context.attributes();
    QueuePairOptions options = plan.options;
    requireAtMost("send depth", options.sendDepth(), device.maxRequests(), context);
    requireAtMost("receive depth", options.receiveDepth(), device.maxRequests(), context);
    requireAtMost("send scatter", options.sendScatter(), device.maxScatter(), context);
    requireAtMost("receive scatter", options.receiveScatter(), device.maxScatter(), context);
    requireAtMost(
        "P_Key index",
        options.pkeyIndex(),
        Math.max(plan.path.port().pkeyTableLength() - 1, 0),
        context);
    if (!plan.path.device().equals(context.name())) {
      throw new IllegalArgumentException("path " + plan.path + " is not of " + context);
    }
    synchronized (domain.lock()) {
      for (Resource parent : plan.parents(domain)) {
        parent.requireOpen();
      }
      if (plan.sends.context() != context || plan.receives.context() != context) {
        throw new IllegalArgumentException("the completion queues are not of " + context);
      }
      if (plan.shared != null && plan.shared.domain() != domain) {
        throw new IllegalArgumentException(plan.shared + " is of another protection domain");
      }
      if (plan.sends == plan.receives) {
        plan.sends.requireRoom(options.sendDepth() + plan.receiveDepth());
      } else {
        plan.sends.requireRoom(options.sendDepth());
        plan.receives.requireRoom(plan.receiveDepth());
      }
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment init = ibv_qp_init_attr_ex.allocate(arena);
        MemorySegment qp = create(domain, plan, init);
        int inline = ibv_qp_cap.max_inline_data(ibv_qp_init_attr.cap(init));
        try {
          MemorySegment extended = options.atomicWrite() ? context.driver().qpEx(qp) : null;
          return new QueuePair(domain, plan, device, qp, extended, inline);
        } catch (Errno e) {
          throw discarded(context, qp, context.failure("ibv_qp_to_qp_ex", e, options.toString()));
        } catch (RuntimeException e) {
          throw discarded(context, qp, e);
        }
      }
    }
  }

  /** Destroys what could be created but not used; returns {@code cause}. */
  private static RuntimeException discarded(
      Context context, MemorySegment qp, RuntimeException cause) {
    try {
      context.driver().destroyQp(qp);
    } catch (Errno e) {
      cause.addSuppressed(context.failure("ibv_destroy_qp", e, "after it could not be used"));
    }
    return cause;
  }

  private static void requireAtMost(String what, int value, int most, Context context) {
    if (value > most) {
      throw new IllegalArgumentException(
          "%s is %d; %s takes at most %d".formatted(what, value, context, most));
    }
  }

  /** How much a device takes inline is told by no query: ask, and ask for half where refused. */
  private static MemorySegment create(ProtectionDomain domain, Plan plan, MemorySegment init) {
    QueuePairOptions options = plan.options;
    int inline = options.inlineBytes();
    while (true) {
      ibv_qp_init_attr.send_cq(init, plan.sends.handle());
      ibv_qp_init_attr.recv_cq(init, plan.receives.handle());
      if (plan.shared != null) {
        ibv_qp_init_attr.srq(init, plan.shared.handle());
      }
      ibv_qp_init_attr.qp_type(
          init, plan.datagram ? IbverbsTypes.IBV_QPT_UD() : IbverbsTypes.IBV_QPT_RC());
      MemorySegment cap = ibv_qp_init_attr.cap(init);
      ibv_qp_cap.max_send_wr(cap, options.sendDepth());
      ibv_qp_cap.max_recv_wr(cap, plan.receiveDepth());
      ibv_qp_cap.max_send_sge(cap, options.sendScatter());
      ibv_qp_cap.max_recv_sge(cap, plan.shared == null ? options.receiveScatter() : 0);
      ibv_qp_cap.max_inline_data(cap, inline);
      try {
        return createHandle(domain, plan, init);
      } catch (Errno e) {
        if (e.number() != Errno.EINVAL || inline == 0) {
          throw domain.context().failure("ibv_create_qp", e, options.toString());
        }
        inline /= 2;
      }
    }
  }

  /** A {@code struct ibv_qp_init_attr_ex} begins as a {@code struct ibv_qp_init_attr} does. */
  private static MemorySegment createHandle(ProtectionDomain domain, Plan plan, MemorySegment init)
      throws Errno {
    Context context = domain.context();
    if (!plan.options.atomicWrite()) {
      return context.driver().createQp(domain.handle(), init);
    }
    ibv_qp_init_attr_ex.comp_mask(
        init, IbverbsTypes.IBV_QP_INIT_ATTR_PD() | IbverbsTypes.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS());
    ibv_qp_init_attr_ex.pd(init, domain.handle());
    ibv_qp_init_attr_ex.send_ops_flags(init, IbverbsTypes.IBV_QP_EX_WITH_ATOMIC_WRITE());
    return context.driver().createQpEx(context.handle(), init);
  }

  @Override
  MemorySegment handle() {
    return handle;
  }

  String device() {
    return context.name();
  }

  /** Whether it is for datagrams; else it is reliably connected. */
  public boolean isDatagram() {
    return datagram;
  }

  @Override
  long mostMessageBytes() {
    return path.port().maxMessageBytes();
  }

  @Override
  ProtectionDomain domain() {
    return domain;
  }

  int sendDepth() {
    return options.sendDepth();
  }

  int sendScatter() {
    return options.sendScatter();
  }

  /** The device's number for it, 24 bits. */
  public int number() {
    return number;
  }

  /** Where it leaves this host. */
  public RdmaPath path() {
    return path;
  }

  /** Bytes that a request may carry inline: what was asked for, or what the device gave. */
  public int inlineBytes() {
    return inlineBytes;
  }

  /** The state as far as it is known here; a device may have gone to ERR by itself. */
  public QueuePairState state() {
    return state;
  }

  /** What the peer needs in its {@link #connect}. */
  public Endpoint endpoint() {
    return new Endpoint(
        number,
        packetSequence,
        path.gid(),
        path.gidType(),
        path.port().lid(),
        path.port().activeMtu(),
        readDepth);
  }

  /**
   * Goes from RESET to RTS, connected with {@code remote}: with the smaller MTU and the smaller
   * number of reads of both ends.
   */
  public void connect(Endpoint remote) {
    initialize();
    readyToReceive(remote);
    readyToSend(remote);
  }

  /** Lets a queue pair for datagrams go from RESET to RTS. */
  public void activate() {
    initialize();
    modify(QueuePairState.RTR, new QueuePairAttributes());
    modify(QueuePairState.RTS, new QueuePairAttributes().sendSequence(packetSequence));
  }

  /** The step from RESET to INIT; receives may be posted after it. */
  public void initialize() {
    QueuePairAttributes attributes =
        new QueuePairAttributes().pkeyIndex(options.pkeyIndex()).port(path.port().number());
    modify(QueuePairState.INIT, datagram ? attributes.qkey(qkey) : attributes.access(access));
  }

  /**
   * The step from INIT to RTR: from now on {@code remote} may write. On Ethernet the kernel looks
   * up the neighbour meanwhile, and fails with ETIMEDOUT after a second, as when the first question
   * was lost; so this asks up to {@value #LOOKUPS} times.
   */
  public void readyToReceive(Endpoint remote) {
    if (path.isGlobal() && (remote.gid().isZero() || remote.gidType() != path.gidType())) {
      throw new IllegalArgumentException(
          "%s speaks %s, its peer %s with GID %s; both ends must speak the same"
              .formatted(path, path.gidType(), remote.gidType(), remote.gid()));
    }
    QueuePairAttributes attributes =
        new QueuePairAttributes()
            .address(path, remote, options.traffic())
            .pathMtu(path.port().activeMtu().min(remote.mtu()))
            .destination(remote.queuePair())
            .receiveSequence(remote.packetSequence())
            .responderReads(Math.min(readDepth, remote.readDepth()))
            .minRnrTimer(options.minRnrTimer());
    for (int lookups = 1; ; lookups++) {
      try {
        modify(QueuePairState.RTR, attributes);
        return;
      } catch (VerbsException e) {
        if (e.errno() != Errno.ETIMEDOUT || lookups == LOOKUPS) {
          throw e;
        }
      }
    }
  }

  /** The step from RTR to RTS. */
  public void readyToSend(Endpoint remote) {
    int reads = Math.min(readDepth, remote.readDepth());
    modify(
        QueuePairState.RTS,
        new QueuePairAttributes()
            .timeout(options.timeout())
            .retryCount(options.retryCount())
            .rnrRetry(options.rnrRetry())
            .sendSequence(packetSequence)
            .initiatorReads(reads));
    initiatorReads = reads;
  }

  /** Flushes what is outstanding, and fences the peer: nothing more comes from it. */
  public void fail() {
    modify(QueuePairState.ERR, new QueuePairAttributes());
  }

  /**
   * Goes back to RESET, where it can be connected anew: forgets what is outstanding, so that no
   * completion tells of it, and its failure. Both ends must do so before either connects again.
   *
   * @throws IllegalStateException if it is in RESET, or a thread does not return from a post
   */
  public void reset() {
    modify(QueuePairState.RESET, new QueuePairAttributes());
  }

  /**
   * Goes to {@code to} with exactly {@code attributes}.
   *
   * @throws IllegalStateException if there is no such step from the present state
   * @throws IllegalArgumentException if attributes are missing, or do not belong to the step
   */
  public void modify(QueuePairState to, QueuePairAttributes attributes) {
    synchronized (lock()) {
      requireOpen();
      QueuePairState from = state;
      Transition.check(this, from, to, attributes.names());
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = attributes.encode(arena, to);
        if (to == QueuePairState.RESET) {
          quiesce();
        }
        context.driver().modifyQp(handle, attr, attributes.mask());
        if (to == QueuePairState.RESET) {
          renewQueues();
        }
        become(to);
      } catch (Errno e) {
        become(from);
        throw context.failure(
            "ibv_modify_qp",
            e,
            "%s from %s to %s with %s on %s".formatted(this, from, to, attributes.names(), path));
      }
    }
  }

  /** A device forgets what is outstanding when it is reset; so does this, and the failure. */
  private void renewQueues() {
    dismissQueues();
    synchronized (stateLock) {
      sends = WorkQueue.create(this, false, sends.depth(), sendCompletions);
      receives = WorkQueue.create(this, true, receives.depth(), receiveCompletions);
      failure = null;
    }
    unsignaled = 0;
    initiatorReads = 0;
  }

  private void dismissQueues() {
    sends.retire(sendCompletions);
    receives.retire(receiveCompletions);
  }

  private void become(QueuePairState next) {
    synchronized (stateLock) {
      state = failure == null ? next : QueuePairState.ERR;
      sends.setOpen(state == QueuePairState.RTS);
      receives.setOpen(
          state == QueuePairState.INIT
              || state == QueuePairState.RTR
              || state == QueuePairState.RTS);
    }
  }

  /** Keeps the first error that a completion of {@code queue} told; nothing is posted after it. */
  void failed(WorkQueue queue, VerbsException error) {
    synchronized (stateLock) {
      boolean current = queue == sends || queue == receives;
      if (current && failure == null) {
        failure = error;
        become(QueuePairState.ERR);
      }
    }
  }

  /** Asks the device for the state. */
  public QueuePairState queryState() {
    synchronized (lock()) {
      requireOpen();
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = ibv_qp_attr.allocate(arena);
        MemorySegment init = ibv_qp_init_attr.allocate(arena);
        context.driver().queryQp(handle, attr, IbverbsTypes.IBV_QP_STATE(), init);
        QueuePairState told = QueuePairState.of(ibv_qp_attr.qp_state(attr));
        become(told);
        return told;
      } catch (Errno e) {
        throw context.failure("ibv_query_qp", e, "asking for the state of " + this);
      }
    }
  }

  /** A chain for up to {@code capacity} sends of up to {@code scatter} pieces each. */
  public SendRequests sendRequests(int capacity, int scatter) {
    return new SendRequests(this, capacity, scatter);
  }

  /** A chain for up to {@code capacity} receives of up to {@code scatter} pieces each. */
  public ReceiveRequests receiveRequests(int capacity, int scatter) {
    if (shared != null) {
      throw new IllegalStateException(this + " takes its receives from the " + shared);
    }
    return new ReceiveRequests(
        this, capacity, options.receiveDepth(), scatter, options.receiveScatter());
  }

  /** Sends that may be posted now: the depth, less what is not known to have ended. */
  public int freeSends() {
    return sends.free();
  }

  /** Receives that may be posted now. */
  public int freeReceives() {
    return receives.free();
  }

  /**
   * Posts all of {@code chain}, or nothing. Allocates nothing. An unsignaled request is signaled
   * all the same when too many would be outstanding unseen; its completion frees their slots and is
   * not shown.
   *
   * @return false if there are too few free slots: poll the completion queue, then try again
   * @throws VerbsException if the device refuses a request, or the queue pair has failed before
   * @throws IllegalStateException if it is not connected, or closed
   */
  public boolean post(SendRequests chain) {
    WorkQueue queue = sends;
    if (!queue.enter()) {
      throw notPostable("ibv_post_send", QueuePairState.RTS);
    }
    try {
      return chain.isPlainFor(this) ? postPlain(queue, chain) : postChecked(queue, chain);
    } finally {
      queue.leave();
      Reference.reachabilityFence(chain);
    }
  }

  private boolean postPlain(WorkQueue queue, SendRequests chain) {
    if (queue.free() < chain.size()) {
      return false;
    }
    queue.postedUpToRelease(chain.number(queue));
    unsignaled = 0;
    int result = FastCalls.constantPostSend(address, chain.address(), chain.refused());
    if (result != 0) {
      throw sendRefused(result, chain, queue);
    }
    return true;
  }

  private boolean postChecked(WorkQueue queue, SendRequests chain) {
    int tail = checkedTail(chain);
    if (queue.free() < chain.size()) {
      return false;
    }
    long next = chain.number(queue);
    boolean forced = tail > options.sendDepth() / 2;
    if (forced) {
      chain.forceSignal();
    }
    queue.postedUpToRelease(next);
    int result = calls.postSend(address, chain.address(), chain.refused());
    unsignaled = forced ? 0 : tail;
    if (forced) {
      chain.undoForcedSignal();
    }
    if (result != 0) {
      throw sendRefused(result, chain, queue);
    }
    return true;
  }

  /** What follows a refused chain is signaled, so that no slot stays unseen. */
  private VerbsException sendRefused(int result, SendRequests chain, WorkQueue queue) {
    unsignaled = options.sendDepth();
    return refused("ibv_post_send", result, chain, queue);
  }

  /** Whether the functions it calls are constants. */
  boolean callsConstants() {
    return FastCalls.areConstant(calls);
  }

  /** Checks a chain; returns how many requests will have followed the last signaled one. */
  private int checkedTail(SendRequests chain) {
    chain.requirePostableTo(this);
    if (chain.hasReads() && initiatorReads == 0) {
      throw new IllegalStateException(
          this + " takes no reads and atomics: one of its ends has a read depth of 0");
    }
    int tail = chain.unsignaledTail();
    return tail == chain.size() ? Math.addExact(unsignaled, tail) : tail;
  }

  /**
   * Posts a write of eight bytes, in native order, that nobody ever sees in part. It is signaled
   * and completes as {@link Opcode#ATOMIC_WRITE}. For the thread that posts sends; slower than a
   * write.
   *
   * @return false if there is no free slot
   * @throws IllegalStateException if the queue pair was made without {@link
   *     QueuePairOptions#atomicWrite()}, is not connected, or closed
   */
  public boolean postAtomicWrite(RemoteRegion to, long offset, long value, long id) {
    long target = to.address() + Objects.checkFromIndexSize(offset, Long.BYTES, to.length());
    SendRequests.requireAligned("remote", target);
    if (extended == null) {
      throw new IllegalStateException(this + " was made without atomic writes");
    }
    WorkQueue queue = sends;
    if (!queue.enter()) {
      throw notPostable("ibv_wr_start", QueuePairState.RTS);
    }
    try {
      if (queue.free() == 0) {
        return false;
      }
      long request = queue.posted();
      queue.name(request, id);
      queue.postedUpToRelease(RequestId.next(request));
      unsignaled = 0;
      word.set(ValueLayout.JAVA_LONG, 0, value);
      ibv_qp_ex.wr_start.invoke(ibv_qp_ex.wr_start(extended), extended);
      ibv_qp_ex.wr_id(extended, request);
      ibv_qp_ex.wr_flags(extended, IbverbsTypes.IBV_SEND_SIGNALED());
      ibv_qp_ex.wr_atomic_write.invoke(
          ibv_qp_ex.wr_atomic_write(extended), extended, to.key().value(), target, word);
      int result = ibv_qp_ex.wr_complete.invoke(ibv_qp_ex.wr_complete(extended), extended);
      if (result != 0) {
        queue.postedUpToRelease(request);
        throw new VerbsException(
            "ibv_wr_complete", device(), Errno.of(result, 0), "posting an atomic write to " + this);
      }
      return true;
    } finally {
      queue.leave();
    }
  }

  /**
   * Posts all of {@code chain}, or nothing. Allocates nothing.
   *
   * @return false if there are too few free slots: poll the completion queue, then try again
   * @throws VerbsException if the device refuses a receive, or the queue pair has failed before
   * @throws IllegalStateException if it is in RESET, or closed
   */
  public boolean post(ReceiveRequests chain) {
    WorkQueue queue = receives;
    if (!queue.enter()) {
      throw notPostable("ibv_post_recv", QueuePairState.INIT);
    }
    try {
      chain.requirePostableTo(this);
      if (queue.free() < chain.size()) {
        return false;
      }
      queue.postedUpToRelease(chain.number(queue));
      int result = calls.postRecv(address, chain.address(), chain.refused());
      if (result != 0) {
        throw refused("ibv_post_recv", result, chain, queue);
      }
      return true;
    } finally {
      queue.leave();
      Reference.reachabilityFence(chain);
    }
  }

  private RuntimeException notPostable(String verb, QueuePairState least) {
    VerbsException first = failure;
    if (isClosed()) {
      return closed();
    }
    if (first == null) {
      return new IllegalStateException("%s is in %s; this needs %s".formatted(this, state, least));
    }
    VerbsException again =
        new VerbsException(verb, device(), 0, this + " has failed before: " + first.getMessage());
    again.initCause(first);
    return again;
  }

  private VerbsException refused(String verb, int result, Requests chain, WorkQueue queue) {
    int accepted = chain.accepted();
    queue.postedUpToRelease(RequestId.plus(queue.posted(), accepted - chain.size()));
    return new VerbsException(
        verb,
        device(),
        Errno.of(result, 0),
        "%s took %d of %d requests; %d of its %d slots are in use, it was made for %s"
            .formatted(this, accepted, chain.size(), queue.outstanding(), queue.depth(), options));
  }

  /** Shows a receive of the shared queue that a message to this queue pair took. */
  void showReceive(int row, Completions into, long name) {
    WorkQueue queue = receives;
    if (!into.rawSuccess(row)) {
      failed(queue, into.exception(row, queue, name));
    }
    into.show(row, queue, name);
  }

  /** The first error, which ended this queue pair. */
  public Optional<VerbsException> failure() {
    return Optional.ofNullable(failure);
  }

  @Override
  int closingOrder() {
    return 0;
  }

  @Override
  void quiesce() {
    shut(sends, "ibv_post_send", context);
    shut(receives, "ibv_post_recv", context);
  }

  /** A device that goes to ERR first is done with memory and requests when it is destroyed. */
  @Override
  void destroy() {
    List<Runnable> steps = new ArrayList<>();
    steps.add(this::destroyHandle);
    steps.add(this::dismissQueues);
    if (shared != null) {
      steps.add(() -> shared.remove(this));
    }
    runAll(steps);
  }

  private void destroyHandle() {
    Driver driver = context.driver();
    try (Arena arena = Arena.ofConfined()) {
      if (state != QueuePairState.RESET) {
        QueuePairAttributes none = new QueuePairAttributes();
        driver.modifyQp(handle, none.encode(arena, QueuePairState.ERR), none.mask());
      }
    } catch (Errno e) {
      System.getLogger(QueuePair.class.getName())
          .log(System.Logger.Level.DEBUG, "{0} was not moved to ERR: {1}", this, e.getMessage());
    }
    try {
      driver.destroyQp(handle);
    } catch (Errno e) {
      throw context.failure("ibv_destroy_qp", e, "destroying " + this);
    }
  }

  @Override
  public String toString() {
    return "queue pair 0x%06x of %s".formatted(number, context.name());
  }
}
