package org.verbena.transport.rdma;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.verbena.bootstrap.Group;
import org.verbena.transport.IdleStrategy;
import org.verbena.transport.PeerException;
import org.verbena.transport.PeerState;
import org.verbena.transport.Registration;
import org.verbena.transport.Traffic;
import org.verbena.transport.Transport;
import org.verbena.verbs.Access;
import org.verbena.verbs.AtomicCapability;
import org.verbena.verbs.CompletionQueue;
import org.verbena.verbs.Completions;
import org.verbena.verbs.Context;
import org.verbena.verbs.Endpoint;
import org.verbena.verbs.MemoryRegion;
import org.verbena.verbs.PathChoice;
import org.verbena.verbs.PathSelector;
import org.verbena.verbs.ProtectionDomain;
import org.verbena.verbs.QueuePair;
import org.verbena.verbs.QueuePairOptions;
import org.verbena.verbs.RdmaPath;
import org.verbena.verbs.RemoteRegion;
import org.verbena.verbs.Status;
import org.verbena.verbs.VerbsException;

/**
 * The transport between hosts. A rank's window is registered once, and peers write into it by RDMA.
 * Only a rank's own window is {@linkplain #isDirect direct}.
 *
 * <p>A ticket is the number of requests handed to a lane, and in its low bits the lane.
 */
final class RdmaTransport implements Transport {
  private static final System.Logger LOG = System.getLogger(RdmaTransport.class.getName());
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();
  private static final int LANE_BITS = 8;
  private static final long FAREWELL_NANOS = TimeUnit.SECONDS.toNanos(3);
  private static final long LAST_WORDS_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
  private static final int POLLED = 64;

  /** Pieces of memory that a message may be gathered from; what common devices can. */
  private static final int MOST_PIECES = 30;

  private final int rank;
  private final int size;
  private final RdmaSettings settings;
  private final Context context;
  private final Runnable release;
  private final RdmaPath path;
  private final ProtectionDomain domain;
  private final MemoryRegion window;
  private final ControlBlock layout;
  private final MemoryRegion control;
  private final CompletionQueue queue;
  private final Completions found = new Completions(POLLED);
  private final Posted counters;

  /** The longest message. */
  private final long mostBytes;

  /** At [peer]; null where nothing goes over the network. */
  private final @Nullable Link[] links;

  private final Lane[] lanes;
  private final @Nullable Endpoint[] remotes;
  private IdleStrategy idle = IdleStrategy.forNetwork(1);
  private int lane;
  private @Nullable Link troubled;
  private boolean failed;
  private boolean left;
  private boolean released;

  /**
   * Opens a device and registers a window.
   *
   * @param memory the window
   * @param release frees the window, once nothing can reach it any more
   * @param linked at [peer], whether the network is needed to reach it
   */
  RdmaTransport(
      Group group,
      RdmaSettings settings,
      Function<PathSelector, PathChoice> device,
      MemorySegment memory,
      Runnable release,
      boolean[] linked) {
    this.release = release;
    rank = group.rank();
    size = group.size();
    this.settings = settings;
    counters = new Posted(size);
    links = new Link[size];
    int count = 0;
    for (boolean each : linked) {
      count += each ? settings.queuePairs() : 0;
    }
    lanes = new Lane[count];
    remotes = new Endpoint[count];
    boolean mails = settings.signal() == SignalKind.WRITE_WITH_IMMEDIATE;
    int places = mails ? Mailbox.places(settings.queueDepth()) : 0;
    layout = new ControlBlock(size, settings.queuePairs(), places);
    PathChoice choice = device.apply(settings.selector());
    context = choice.context();
    path = choice.path();
    boolean opened = false;
    try {
      requireAtomics();
      domain = context.createProtectionDomain();
      window = domain.register(memory, access());
      control = domain.allocate(layout.bytes(), Access.REMOTE_WRITE);
      long sourceBytes = Lane.sourceBytes(settings.queueDepth());
      MemoryRegion sources = domain.allocate(Math.max(1, count) * sourceBytes, Access.LOCAL_WRITE);
      int pieces = Math.min(MOST_PIECES, context.attributes().maxScatter());
      QueuePairOptions options = settings.options(places).withScatter(pieces, 1);
      mostBytes = Math.min(settings.chunkBytes(), path.port().maxMessageBytes());
      queue =
          context.createCompletionQueue(
              Math.max(1, count * (options.sendDepth() + options.receiveDepth())));
      int next = 0;
      for (int peer = 0; peer < size; peer++) {
        if (linked[peer]) {
          Link link = new Link(this, peer, settings, layout, counters);
          links[peer] = link;
          for (int i = 0; i < settings.queuePairs(); i++) {
            QueuePair pair = domain.createQueuePair(path, options, queue, queue);
            Lane made =
                new Lane(
                    link,
                    next,
                    pair,
                    settings.queueDepth(),
                    pieces,
                    mostBytes,
                    sources,
                    next * sourceBytes,
                    counters);
            link.put(
                i,
                made,
                mails
                    ? new Mailbox(layout, control, memory, peer, i, pair, (long) next << 32)
                    : null);
            lanes[next++] = made;
          }
        }
      }
      opened = true;
    } finally {
      if (!opened) {
        context.close();
      }
    }
  }

  private void requireAtomics() {
    boolean needed = settings.atomics() || settings.signal() == SignalKind.FETCH_AND_ADD;
    if (needed && context.attributes().atomics() == AtomicCapability.NONE) {
      throw new IllegalArgumentException(
          "device %s has no atomics; signal by write, and without atomics".formatted(path));
    }
  }

  private Access[] access() {
    List<Access> access = new ArrayList<>(List.of(Access.REMOTE_WRITE));
    if (settings.reads()) {
      access.add(Access.REMOTE_READ);
    }
    if (settings.atomics() || settings.signal() == SignalKind.FETCH_AND_ADD) {
      access.add(Access.REMOTE_ATOMIC);
    }
    return access.toArray(Access[]::new);
  }

  // Connecting

  /** What the peers need: where this rank's memory is, and for each peer the ends of its lanes. */
  byte[] address() {
    int ends = size * settings.queuePairs();
    ByteBuffer bytes = ByteBuffer.allocate(2 * RemoteRegion.BYTES + ends * Endpoint.BYTES);
    bytes.put(window.remote().encode()).put(control.remote().encode());
    for (int peer = 0; peer < size; peer++) {
      Link link = links[peer];
      for (int i = 0; i < settings.queuePairs(); i++) {
        bytes.put(
            link == null ? new byte[Endpoint.BYTES] : link.lanes()[i].pair().endpoint().encode());
      }
    }
    return bytes.array();
  }

  /** Connects all lanes with the ends that the others told. */
  byte[] connect(List<byte[]> addresses) {
    int ranksHere = 1;
    for (int peer = 0, next = 0; peer < size; peer++) {
      Link link = links[peer];
      if (link == null) {
        continue;
      }
      ByteBuffer bytes = ByteBuffer.wrap(addresses.get(peer));
      link.reach(RemoteRegion.decode(bytes), RemoteRegion.decode(bytes));
      if (link.window().length() != window.length()) {
        throw new IllegalArgumentException(
            "the window has %d bytes on rank %d, %d on rank %d"
                .formatted(window.length(), rank, link.window().length(), peer));
      }
      bytes.position(bytes.position() + rank * settings.queuePairs() * Endpoint.BYTES);
      for (int i = 0; i < settings.queuePairs(); i++) {
        Endpoint remote = Endpoint.decode(bytes);
        remotes[next++] = remote;
        connect(link.lanes()[i].pair(), link.mailbox(i), remote);
        ranksHere += i == 0 && peer != rank && remote.gid().equals(path.gid()) ? 1 : 0;
      }
    }
    idle = IdleStrategy.forNetwork(ranksHere);
    return new byte[0];
  }

  private static void connect(QueuePair pair, @Nullable Mailbox mailbox, Endpoint remote) {
    pair.initialize();
    if (mailbox != null) {
      mailbox.open();
    }
    pair.readyToReceive(remote);
    pair.readyToSend(remote);
  }

  // The transport

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public int size() {
    return size;
  }

  @Override
  public MemorySegment window() {
    return window.memory();
  }

  @Override
  public boolean isDirect(int peer) {
    return peer == rank;
  }

  @Override
  public MemorySegment stage(int peer) {
    return window.memory();
  }

  @Override
  public void channel(int channel) {
    lane = channel % settings.queuePairs();
  }

  private Link link(int peer) {
    Link link = links[peer];
    if (link == null) {
      throw new IllegalStateException(
          "rank %d: no connection to rank %d; open with atomics".formatted(rank, peer));
    }
    return link;
  }

  /** The ticket of what was handed last to the present lane of a link. */
  private long ticket(Link link) {
    return (link.lanes()[lane].next() << LANE_BITS) | lane;
  }

  @Override
  public long write(int peer, long remoteOffset, long localOffset, long bytes) {
    return peer == rank ? 0 : write(link(peer), remoteOffset, window, localOffset, bytes);
  }

  private long write(
      Link link, long remoteOffset, MemoryRegion from, long localOffset, long bytes) {
    Lane on = link.lanes()[lane];
    for (long done = 0; done < bytes; done += mostBytes) {
      on.write(
          link.window(),
          remoteOffset + done,
          from,
          localOffset + done,
          Math.min(mostBytes, bytes - done));
    }
    return ticket(link);
  }

  @Override
  public Registration register(MemorySegment memory) {
    return new Registered(domain.register(memory));
  }

  /** Registered for this device to read, and for nobody to write. */
  private record Registered(MemoryRegion region) implements Registration {
    @Override
    public MemorySegment memory() {
      return region.memory();
    }

    @Override
    public void close() {
      region.close();
    }
  }

  @Override
  public long write(int peer, long remoteOffset, Registration from, long offset, long bytes) {
    if (peer == rank) {
      MemorySegment.copy(from.memory(), offset, window.memory(), remoteOffset, bytes);
      return 0;
    }
    return write(link(peer), remoteOffset, ((Registered) from).region(), offset, bytes);
  }

  @Override
  public void signalRelease(int peer, long remoteOffset, long value) {
    if (peer == rank) {
      LONG.setRelease(window.memory(), remoteOffset, value);
    } else {
      link(peer).signal(lane, remoteOffset, value, Long.BYTES);
    }
  }

  @Override
  public void signalIntRelease(int peer, long remoteOffset, int value) {
    if (peer == rank) {
      INT.setRelease(window.memory(), remoteOffset, value);
    } else {
      link(peer).signal(lane, remoteOffset, value, Integer.BYTES);
    }
  }

  @Override
  public void resetSignal(int peer, long remoteOffset) {
    if (peer != rank) {
      link(peer).resetSignal(remoteOffset, Integer.BYTES);
    }
  }

  @Override
  public long read(int peer, long remoteOffset, long localOffset, long bytes) {
    if (peer == rank) {
      MemorySegment.copy(window.memory(), remoteOffset, window.memory(), localOffset, bytes);
      return 0;
    }
    Link link = link(peer);
    link.lanes()[lane].read(link.window(), remoteOffset, window, localOffset, bytes);
    return ticket(link);
  }

  /** To this rank itself too: a word that the network changes is changed by nothing else. */
  @Override
  public long fetchAndAdd(int peer, long remoteOffset, long delta, long localOffset) {
    Link link = link(peer);
    link.lanes()[lane].fetchAndAdd(link.window(), remoteOffset, delta, window, localOffset);
    return ticket(link);
  }

  @Override
  public long compareAndSwap(
      int peer, long remoteOffset, long expected, long value, long localOffset) {
    Link link = link(peer);
    link.lanes()[lane].compareAndSwap(
        link.window(), remoteOffset, expected, value, window, localOffset);
    return ticket(link);
  }

  @Override
  public boolean isComplete(int peer, long ticket) {
    Link link = links[peer];
    if (ticket == 0 || link == null || link.isGone()) {
      return true;
    }
    link.requireSound();
    Lane on = link.lanes()[(int) ticket & (1 << LANE_BITS) - 1];
    if (on.hasCompleted(ticket >>> LANE_BITS)) {
      return true;
    }
    progress();
    return link.isGone() || on.hasCompleted(ticket >>> LANE_BITS);
  }

  @Override
  public void progress() {
    poll();
    if (layout.places() > 0) {
      tellTaken();
    }
    if (troubled != null) {
      troubled.requireSound();
    }
  }

  /** Takes note of completions, and posts nothing. */
  void poll() {
    int count = queue.poll(found);
    for (int i = 0; i < count; i++) {
      Lane on = lanes[Lane.index(found.id(i))];
      if (found.status(i) != Status.SUCCESS) {
        fail(on, i);
      } else if (found.isReceive(i)) {
        take(on, found.immediate(i));
      }
    }
  }

  private void tellTaken() {
    for (Link link : links) {
      if (link != null) {
        link.tellTaken();
      }
    }
  }

  private void take(Lane on, int place) {
    Mailbox mailbox = on.link().mailbox(on.index() % settings.queuePairs());
    try {
      if (mailbox != null) {
        mailbox.takeRelease(place);
      }
    } catch (IndexOutOfBoundsException e) {
      fail(on.link(), "it signalled where nothing is: " + e.getMessage(), 0, 0);
    }
  }

  private void fail(Lane on, int completion) {
    long id = found.id(completion);
    try {
      found.requireSuccess(completion);
    } catch (VerbsException e) {
      boolean receive = found.isReceive(completion);
      String what = receive ? "receive" : on.describe(id);
      fail(
          on.link(),
          what + ": " + e.getMessage(),
          receive ? 0 : on.offset(id),
          receive ? 0 : on.length(id));
    }
  }

  private void fail(Link link, String cause, long offset, long bytes) {
    link.fail(cause, offset, bytes);
    if (troubled == null && !link.isGone()) {
      troubled = link;
    }
  }

  /** What to throw when something to a peer has failed. */
  PeerException lost(Link link, String failure, long offset, long bytes) {
    PeerState told = told(link.peer());
    int culprit = told.kind() == PeerState.Kind.FAILED ? told.culprit() : link.peer();
    String why =
        culprit == link.peer() ? "" : " (it gave up because of rank %d)".formatted(culprit);
    return new PeerException(
        culprit,
        "rank %d: lost rank %d%s over %s: %s"
            .formatted(rank, link.peer(), why, path(link.peer()), failure),
        offset,
        bytes);
  }

  // The peers' ends

  /** What a peer has told of itself. */
  PeerState told(int peer) {
    return layout.read(control.memory(), peer);
  }

  @Override
  public PeerState state(int peer) {
    PeerState told = told(peer);
    Link link = links[peer];
    if (told.kind() != PeerState.Kind.ALIVE || link == null || peer == rank) {
      return told;
    }
    poll();
    if (link.hasFailed()) {
      // It may have closed just before it ended.
      PeerState last = told(peer);
      return last.kind() == PeerState.Kind.ALIVE ? new PeerState(PeerState.Kind.DEAD, peer) : last;
    }
    link.probe();
    return told;
  }

  @Override
  public void fail(int culprit) {
    if (failed) {
      return;
    }
    failed = true;
    try {
      tellAll(ControlBlock.failed(culprit), System.nanoTime() + LAST_WORDS_NANOS);
      Link link = links[culprit];
      if (link != null && culprit != rank) {
        link.fence();
      }
    } catch (PeerException | VerbsException e) {
      LOG.log(System.Logger.Level.DEBUG, "failing goes on without a word to all", e);
    }
  }

  /** Tells all peers how this rank leaves, and waits until they can know. */
  private void tellAll(long state, long deadline) {
    boolean[] told = new boolean[size];
    var _ =
        pollUntil(
            deadline,
            link -> {
              told[link.peer()] |= link.tell(state);
              return told[link.peer()] && link.isSettled();
            });
  }

  /** Whether all that was posted completes by the deadline, so that all slots are free again. */
  boolean settle(long deadline) {
    return pollUntil(deadline, Link::isSettled);
  }

  /**
   * Polls until this is so of all links, or the deadline has passed; asks each link every time.
   *
   * @return whether it is so
   */
  private boolean pollUntil(long deadline, Predicate<Link> done) {
    for (int pauses = 0; System.nanoTime() - deadline < 0; pauses++) {
      boolean all = true;
      for (Link link : links) {
        all &= link == null || done.test(link);
      }
      if (all) {
        return true;
      }
      poll();
      idle.idle(pauses);
    }
    return false;
  }

  @Override
  public void close() {
    if (!left) {
      left = true;
      if (!failed) {
        sayFarewell();
      }
      context.close();
    }
    if (!released) {
      // Tried again if it was refused before.
      release.run();
      released = true;
    }
  }

  private void sayFarewell() {
    try {
      long deadline = System.nanoTime() + FAREWELL_NANOS;
      // What was sent has to arrive first.
      var _ = settle(deadline);
      tellAll(ControlBlock.closed(), deadline + LAST_WORDS_NANOS);
    } catch (PeerException | VerbsException e) {
      LOG.log(System.Logger.Level.DEBUG, "closing goes on without a word to all", e);
    }
  }

  /** Gives the device back without a word, where opening failed. */
  void discard() {
    context.close();
  }

  @Override
  public IdleStrategy idleStrategy() {
    return idle;
  }

  @Override
  public String path(int peer) {
    Link link = links[peer];
    if (link == null || peer == rank) {
      return "own memory";
    }
    Endpoint to = remotes[link.lanes()[0].index()];
    int pairs = settings.queuePairs();
    return to == null
        ? path.toString()
        : "%s to %s, MTU %d, %d queue pair%s"
            .formatted(
                path,
                to.gid(),
                path.port().activeMtu().min(to.mtu()).bytes(),
                pairs,
                pairs == 1 ? "" : "s");
  }

  @Override
  public Traffic traffic() {
    return counters;
  }

  /** Memory for a window, page-aligned and zero. */
  static MemorySegment allocate(Arena arena, long bytes) {
    long page = 4096;
    return arena.allocate(Math.ceilDiv(bytes, page) * page, page).asSlice(0, bytes);
  }
}
