package org.verbena.transport.rdma;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.verbena.transport.IdleStrategy;
import org.verbena.transport.PeerException;
import org.verbena.transport.PeerState;
import org.verbena.verbs.RemoteRegion;

/** The connection to one peer: its lanes, where its memory is, and what is known of its end. */
final class Link {
  private static final long SLOT_TIMEOUT = TimeUnit.SECONDS.toNanos(30);
  private static final long PROBE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

  private final RdmaTransport transport;
  private final int peer;
  private final boolean remote;
  private final SignalKind kind;
  private final ControlBlock layout;
  private final Posted counters;
  private final Lane[] lanes;
  private final @Nullable Mailbox[] mailboxes;

  /** What 64-bit words hold that are signalled in as a whole. */
  private final WordTable words = new WordTable();

  private @Nullable RemoteRegion window;
  private @Nullable RemoteRegion control;
  private @Nullable String failure;
  private long failedOffset;
  private long failedBytes;
  private boolean gone;
  private long nextProbe = System.nanoTime();

  Link(
      RdmaTransport transport,
      int peer,
      RdmaSettings settings,
      ControlBlock layout,
      Posted counters) {
    this.transport = transport;
    this.peer = peer;
    this.remote = peer != transport.rank();
    this.kind = settings.signal();
    this.layout = layout;
    this.counters = counters;
    this.lanes = new Lane[settings.queuePairs()];
    this.mailboxes = new Mailbox[settings.queuePairs()];
  }

  void put(int lane, Lane made, @Nullable Mailbox mailbox) {
    lanes[lane] = made;
    mailboxes[lane] = mailbox;
  }

  void reach(RemoteRegion peerWindow, RemoteRegion peerControl) {
    window = peerWindow;
    control = peerControl;
  }

  int peer() {
    return peer;
  }

  /** Whether the peer is another rank. */
  boolean isRemote() {
    return remote;
  }

  Lane[] lanes() {
    return lanes;
  }

  @Nullable Mailbox mailbox(int lane) {
    return mailboxes[lane];
  }

  RemoteRegion window() {
    return required(window);
  }

  RemoteRegion control() {
    return required(control);
  }

  private RemoteRegion required(@Nullable RemoteRegion region) {
    if (region == null) {
      throw new IllegalStateException("rank %d is not connected".formatted(peer));
    }
    return region;
  }

  // Signals

  /** Signals in a word of 4 or 8 bytes, behind what was handed to this lane before. */
  void signal(int lane, long offset, long value, int bytes) {
    Lane on = lanes[lane];
    boolean last = bytes == Long.BYTES;
    switch (kind) {
      case WRITE -> on.writeWord(window(), offset, value, bytes);
      case FETCH_AND_ADD -> {
        long word = offset & -Long.BYTES;
        long before = words.get(word);
        long after = merged(before, offset, value, bytes);
        on.add(window(), word, after - before, last);
        words.put(word, after);
      }
      case WRITE_WITH_IMMEDIATE -> mail(lane, Mailbox.address(offset, bytes), value);
      case ATOMIC_WRITE -> {
        long word = offset & -Long.BYTES;
        long after = merged(words.get(word), offset, value, bytes);
        on.writeAtomically(window(), word, after);
        words.put(word, after);
      }
    }
    counters.signal(peer);
  }

  /** A word of which 4 or 8 bytes at this offset are replaced; little-endian. */
  private static long merged(long word, long offset, long value, int bytes) {
    if (bytes == Long.BYTES) {
      return value;
    }
    int shift = (offset & Integer.BYTES) == 0 ? 0 : Integer.SIZE;
    long mask = 0xffff_ffffL << shift;
    return (word & ~mask) | ((value << shift) & mask);
  }

  /** The peer has set this 32-bit or 64-bit word to 0. */
  void resetSignal(long offset, int bytes) {
    long word = offset & -Long.BYTES;
    words.put(word, merged(words.get(word), offset, 0, bytes));
  }

  private void mail(int lane, long address, long value) {
    Mailbox mailbox = mailboxes[lane];
    if (mailbox == null) {
      throw new IllegalStateException("there are no mailboxes");
    }
    if (!mailbox.hasPlace()) {
      awaitPlace(mailbox);
    }
    int place = mailbox.nextPlace();
    lanes[lane].writeMail(
        control(), layout.mail(transport.rank(), lane, place), address, value, place);
  }

  private void awaitPlace(Mailbox mailbox) {
    IdleStrategy idle = transport.idleStrategy();
    long deadline = System.nanoTime() + SLOT_TIMEOUT;
    for (int pauses = 0; !gone && !mailbox.hasPlace(); pauses++) {
      transport.progress();
      requireInTime(deadline, "rank %d took no signal".formatted(peer));
      idle.idle(pauses);
    }
  }

  /** Tells how many mails were taken, where it is time to. */
  void tellTaken() {
    for (int lane = 0; lane < lanes.length; lane++) {
      Mailbox mailbox = mailboxes[lane];
      if (mailbox != null && mailbox.isNewsDue() && !hasFailed()) {
        long at = layout.taken(transport.rank(), lane);
        if (lanes[lane].writeUrgent(control(), at, mailbox.free())) {
          mailbox.told();
        }
      }
    }
  }

  /** Waits until a lane has so many free slots. */
  void awaitSlots(Lane lane, int slots) {
    IdleStrategy idle = transport.idleStrategy();
    long deadline = System.nanoTime() + SLOT_TIMEOUT;
    for (int pauses = 0; !gone && lane.pair().freeSends() < slots; pauses++) {
      transport.poll();
      requireSound();
      requireInTime(deadline, "no slot of %s was freed".formatted(lane.pair()));
      idle.idle(pauses);
    }
  }

  private void requireInTime(long deadline, String what) {
    if (System.nanoTime() - deadline > 0) {
      throw new PeerException(
          peer,
          "rank %d: %s within %d s"
              .formatted(transport.rank(), what, TimeUnit.NANOSECONDS.toSeconds(SLOT_TIMEOUT)));
    }
  }

  // The peer's end

  /** Sees now and then whether the peer's device answers, unless a request under way will tell. */
  void probe() {
    long now = System.nanoTime();
    if (now - nextProbe >= 0 && !lanes[0].awaitsCompletion()) {
      nextProbe = now + PROBE_NANOS;
      probe(lanes[0]);
    }
  }

  /** Writes what nobody reads, and is told when that and all before it has arrived. */
  void probe(Lane lane) {
    if (!hasFailed()) {
      var _ = lane.writeUrgent(control(), layout.probe(transport.rank()), 0);
    }
  }

  /** Tells the peer how this rank leaves. */
  boolean tell(long state) {
    return hasFailed() || lanes[0].writeUrgent(control(), layout.state(transport.rank()), state);
  }

  /**
   * Notes the first failure. If the peer has closed in order, nothing more is sent and that is all.
   */
  void fail(String cause, long offset, long bytes) {
    if (failure == null) {
      failure = cause;
      failedOffset = offset;
      failedBytes = bytes;
      gone = transport.told(peer).kind() == PeerState.Kind.CLOSED;
    }
  }

  boolean hasFailed() {
    return failure != null;
  }

  /** Whether the peer closed in order and can't be reached any more. */
  boolean isGone() {
    return gone;
  }

  /** Throws if something failed, unless the peer is {@linkplain #isGone gone}. */
  void requireSound() {
    if (failure != null && !gone) {
      throw transport.lost(this, failure, failedOffset, failedBytes);
    }
  }

  /** Whether nothing is under way to the peer, or it does not matter any more. */
  boolean isSettled() {
    if (hasFailed() || transport.told(peer).kind() != PeerState.Kind.ALIVE) {
      return true;
    }
    for (Lane lane : lanes) {
      if (!lane.hasCompleted(lane.next())) {
        return false;
      }
    }
    return true;
  }

  /** Lets nothing more come from the peer, nor go to it. */
  void fence() {
    for (Lane lane : lanes) {
      lane.pair().fail();
    }
  }
}
