package org.verbena.transport.sim;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import org.verbena.transport.PeerState;

/**
 * What lies between the ranks of a {@link LateProvider}: a thread that, one operation at a time,
 * lets the next of some pair of ranks happen, or its completion be seen. A write reads its memory
 * only when it happens.
 */
final class LateNetwork {
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();

  /** What happens at a target, given the windows of both. */
  @FunctionalInterface
  interface Operation {
    void happen(MemorySegment source, MemorySegment target);
  }

  private static final class Channel {
    private final Deque<Operation> travelling = new ArrayDeque<>();
    private long posted;
    private long happened;
    private long seen;
  }

  private final Arena arena = Arena.ofShared();
  private final MemorySegment[] windows;
  private final Channel[] channels;
  private final PeerState[] states;
  private final Random random;
  private final int ranks;
  private int open;

  LateNetwork(int ranks, long windowBytes, long seed) {
    this.ranks = ranks;
    open = ranks;
    random = new Random(seed);
    windows = new MemorySegment[ranks];
    states = new PeerState[ranks];
    channels = new Channel[ranks * ranks];
    for (int rank = 0; rank < ranks; rank++) {
      windows[rank] = arena.allocate(windowBytes, 4096);
      states[rank] = new PeerState(PeerState.Kind.ALIVE, rank);
    }
    for (int i = 0; i < channels.length; i++) {
      channels[i] = new Channel();
    }
    Thread.ofPlatform().daemon().name("late network").start(this::run);
  }

  private void run() {
    try {
      while (step()) {
        Thread.onSpinWait();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    arena.close();
  }

  /**
   * Lets something happen; waits if nothing can; false once all have closed and all has arrived.
   */
  private synchronized boolean step() throws InterruptedException {
    List<Integer> busy = busy();
    while (busy.isEmpty()) {
      if (open == 0) {
        return false;
      }
      wait();
      busy = busy();
    }
    int which = busy.get(random.nextInt(busy.size()));
    Channel channel = channels[which];
    if (channel.seen < channel.happened && (channel.travelling.isEmpty() || random.nextBoolean())) {
      channel.seen++;
    } else {
      channel.travelling.remove().happen(windows[which / ranks], windows[which % ranks]);
      channel.happened++;
    }
    return true;
  }

  /** The channels in which something can happen, or be seen. */
  private List<Integer> busy() {
    List<Integer> busy = new ArrayList<>();
    for (int i = 0; i < channels.length; i++) {
      Channel channel = channels[i];
      if (!channel.travelling.isEmpty() || channel.seen < channel.happened) {
        busy.add(i);
      }
    }
    return busy;
  }

  int ranks() {
    return ranks;
  }

  MemorySegment window(int rank) {
    return windows[rank];
  }

  synchronized long post(int source, int target, Operation operation) {
    Channel channel = channels[source * ranks + target];
    if (isAlive(source) && isAlive(target)) {
      channel.travelling.add(operation);
      notifyAll();
    }
    return ++channel.posted;
  }

  private boolean isAlive(int rank) {
    return states[rank].kind() != PeerState.Kind.DEAD;
  }

  synchronized boolean isComplete(int source, int target, long ticket) {
    return ticket <= channels[source * ranks + target].seen;
  }

  /** Who closed is alive to the others as long as something of it travels. */
  synchronized PeerState state(int rank) {
    boolean leaves = states[rank].kind() == PeerState.Kind.CLOSED && isTravelling(rank);
    return leaves ? new PeerState(PeerState.Kind.ALIVE, rank) : states[rank];
  }

  private boolean isTravelling(int source) {
    for (int target = 0; target < ranks; target++) {
      if (!channels[source * ranks + target].travelling.isEmpty()) {
        return true;
      }
    }
    return false;
  }

  synchronized void end(int rank, PeerState state) {
    if (states[rank].kind() == PeerState.Kind.ALIVE) {
      states[rank] = state;
    }
    if (state.kind() == PeerState.Kind.DEAD) {
      for (int peer = 0; peer < ranks; peer++) {
        channels[rank * ranks + peer].travelling.clear();
        channels[peer * ranks + rank].travelling.clear();
      }
    }
  }

  synchronized void close() {
    open--;
    notifyAll();
  }

  static Operation signal(long offset, long value) {
    return (source, target) -> LONG.setRelease(target, offset, value);
  }

  static Operation signalInt(long offset, int value) {
    return (source, target) -> INT.setRelease(target, offset, value);
  }

  static Operation add(long offset, long delta, long result) {
    return (source, target) ->
        LONG.setRelease(source, result, (long) LONG.getAndAdd(target, offset, delta));
  }

  static Operation swap(long offset, long expected, long value, long result) {
    return (source, target) ->
        LONG.setRelease(
            source, result, (long) LONG.compareAndExchange(target, offset, expected, value));
  }
}
