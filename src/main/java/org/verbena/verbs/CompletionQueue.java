package org.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Arrays;
import java.util.BitSet;
import org.jspecify.annotations.Nullable;
import org.verbena.ffi.ibv_cq;

/**
 * Where requests that have ended are told. One thread polls at a time; it must go on polling, since
 * slots of send and receive queues are freed by it alone.
 */
public final class CompletionQueue extends Resource {
  private final Context context;
  private final MemorySegment handle;
  private final long address;
  private final FastCalls calls;
  private final @Nullable CompletionChannel channel;
  private final Gate gate = new Gate();
  private final BitSet taken = new BitSet();
  private volatile int[] generations = {};
  private volatile @Nullable Slots[] places = {};
  private volatile int capacity;
  private int reserved;

  /** Whose request has completed last: mostly the one whose does next. */
  private @Nullable WorkQueue recent;

  CompletionQueue(Context context, MemorySegment handle, @Nullable CompletionChannel channel) {
    super(channel == null ? new Resource[] {context} : new Resource[] {context, channel});
    this.context = context;
    this.channel = channel;
    this.handle = handle;
    this.address = handle.address();
    this.calls = context.calls();
    this.capacity = ibv_cq.cqe(handle);
    gate.setOpen(true);
    attach();
  }

  Context context() {
    return context;
  }

  @Override
  MemorySegment handle() {
    return handle;
  }

  /** Completions it holds: at least what was asked for. */
  public int capacity() {
    return capacity;
  }

  /**
   * Makes room for at least {@code entries} completions; those that are in the queue stay. It may
   * be polled meanwhile.
   *
   * @throws IllegalArgumentException if the queue pairs of this queue may complete more at once, or
   *     the device holds no more
   */
  public void resize(int entries) {
    int most = context.attributes().maxCompletions();
    synchronized (lock()) {
      requireOpen();
      int least = Math.max(reserved, 1);
      if (entries < least || entries > most) {
        throw new IllegalArgumentException(
            "its queue pairs may complete %d at once and %s holds at most %d; %d do not fit"
                .formatted(reserved, context, most, entries));
      }
      try {
        context.driver().resizeCq(handle, entries);
      } catch (Errno e) {
        throw context.failure(
            "ibv_resize_cq", e, "from %d to %d completions".formatted(capacity, entries));
      }
      capacity = ibv_cq.cqe(handle);
    }
  }

  /** Refuses what has no room: an overrun would break every queue pair of this queue. */
  void requireRoom(int depth) {
    requireOpen();
    if (depth > capacity - reserved) {
      throw new IllegalArgumentException(
          "the completion queue holds %d, its queue pairs may complete %d at once, so %d more do"
                  .formatted(capacity, reserved, depth)
              + " not fit");
    }
    if (taken.cardinality() > RequestId.MAX_PLACES - 2) {
      throw new IllegalStateException(
          "a completion queue serves at most " + RequestId.MAX_PLACES + " work queues");
    }
  }

  /** Reserves a place, and room for {@code depth} completions. Under the lock. Returns its tag. */
  int admit(int depth) {
    int place = taken.nextClearBit(0);
    taken.set(place);
    reserved += depth;
    int[] next = Arrays.copyOf(generations, Math.max(generations.length, place + 1));
    next[place] = next[place] % RequestId.MAX_GENERATION + 1;
    generations = next;
    return RequestId.tag(place, next[place]);
  }

  /** Puts {@code slots} on the place of {@code tag}. Under the lock. */
  void seat(int tag, @Nullable Slots slots) {
    int place = RequestId.place(tag);
    @Nullable Slots[] next = Arrays.copyOf(places, Math.max(places.length, place + 1));
    next[place] = slots;
    places = next;
    recent = null;
  }

  /** Gives back what {@link #admit} gave. Under the lock. */
  void dismiss(int tag, int depth) {
    seat(tag, null);
    taken.clear(RequestId.place(tag));
    reserved -= depth;
  }

  /**
   * Takes completions, as many as there are and fit, into {@code into}; does not wait. Allocates
   * nothing unless a request failed.
   *
   * @return how many were taken; 0 also where only completions came that free slots of unsignalled
   *     requests
   * @throws VerbsException if polling fails, or a completion belongs to no request; what was taken
   *     with it is in {@code into}
   */
  public int poll(Completions into) {
    if (!gate.enter()) {
      into.clear();
      throw closed();
    }
    try {
      int found = FastCalls.pollCq(calls, address, into.capacity(), into.address());
      if (found > 0) {
        return account(into, found);
      }
      into.clear();
      if (found < 0) {
        throw pollFailure(found);
      }
      return 0;
    } finally {
      gate.leave();
      Reference.reachabilityFence(into);
    }
  }

  /**
   * Takes note of the completions: frees slots, keeps first errors, shows what is to be seen.
   *
   * @return how many are shown
   */
  private int account(Completions into, int found) {
    int shown = into.showFirst(recent, found);
    return shown == found ? found : accountFrom(shown, into, found);
  }

  private int accountFrom(int first, Completions into, int found) {
    VerbsException stranger = null;
    Slots slots = null;
    for (int row = first; row < found; row++) {
      long id = into.rawId(row);
      slots = at(RequestId.place(RequestId.tag(id)));
      if ((slots == null || !slots.completes(id, row, into)) && !isPast(id)) {
        stranger = strangerFailure(into, row);
      }
    }
    recent = slots instanceof WorkQueue queue ? queue : recent;
    if (stranger != null) {
      throw stranger;
    }
    return into.size();
  }

  private @Nullable Slots at(int place) {
    @Nullable Slots[] now = places;
    return place < now.length ? now[place] : null;
  }

  /**
   * Whether {@code id} is of a queue that is gone: some devices keep its completions. Takes no
   * lock, as who closes holds it while it waits for the poller.
   */
  private boolean isPast(long id) {
    int place = RequestId.place(RequestId.tag(id));
    int generation = RequestId.generation(RequestId.tag(id));
    int[] last = generations;
    return generation != 0
        && place < last.length
        && (at(place) == null || last[place] != generation);
  }

  private VerbsException strangerFailure(Completions into, int row) {
    return new VerbsException(
        "ibv_poll_cq",
        context.name(),
        0,
        "a completion of queue pair 0x%06x carries 0x%x, which no outstanding request has"
            .formatted(into.rawQueuePair(row), into.rawId(row)));
  }

  private VerbsException pollFailure(int result) {
    return new VerbsException(
        "ibv_poll_cq",
        context.name(),
        -result,
        "the completion queue of %d was overrun, or the device failed".formatted(capacity));
  }

  /**
   * Asks for the channel to be woken by the next completion, once.
   *
   * @param solicitedOnly only by the receive of a message sent as solicited, or an error
   */
  public void requestNotification(boolean solicitedOnly) {
    synchronized (lock()) {
      requireOpen();
      int result = calls.reqNotifyCq(handle, solicitedOnly);
      if (result != 0) {
        throw new VerbsException(
            "ibv_req_notify_cq", context.name(), Math.abs(result), "asking to be woken");
      }
    }
  }

  /**
   * Takes completions as {@link #poll} does, and sleeps on the channel while there are none: polls,
   * asks to be woken, and polls again before it sleeps.
   *
   * @return how many were taken; 0 if none came within {@code timeout}
   * @throws IllegalStateException if the queue was made without a channel, or is closed
   * @throws InterruptedException if this thread is interrupted while it sleeps, within 50 ms
   */
  public int await(Completions into, Duration timeout) throws InterruptedException {
    if (channel == null) {
      throw new IllegalStateException(this + " was made without a channel to sleep on");
    }
    long deadline = System.nanoTime() + timeout.toNanos();
    boolean inTime = true;
    while (poll(into) == 0 && inTime) {
      requestNotification(false);
      if (poll(into) > 0) {
        break;
      }
      inTime = channel.await(Duration.ofNanos(Math.max(0, deadline - System.nanoTime())));
    }
    return into.size();
  }

  @Override
  int closingOrder() {
    return 3;
  }

  @Override
  void quiesce() {
    shut(gate, "ibv_poll_cq", context);
  }

  @Override
  void destroy() {
    try {
      context.driver().destroyCq(handle);
    } catch (Errno e) {
      throw context.failure("ibv_destroy_cq", e, "destroying a completion queue");
    }
  }

  @Override
  public String toString() {
    return "completion queue of " + context.name();
  }
}
