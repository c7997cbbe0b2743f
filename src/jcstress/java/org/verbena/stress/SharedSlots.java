package org.verbena.stress;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.verbena.bootstrap.LocalGroup;
import org.verbena.transport.Transport;
import org.verbena.transport.shm.ShmTransport;

/** Two ranks over shared memory, in the windows of which each state of a stress test has a slot. */
final class SharedSlots {
  private static final int BYTES = 256;

  /** Far more than there are states at a time, so that none is given to two of them. */
  private static final int SLOTS = 1 << 18;

  private static final AtomicInteger NEXT = new AtomicInteger();

  private static final Pair RANKS = Pair.open((long) SLOTS * BYTES);

  static final Transport SENDER = RANKS.sender();
  static final Transport RECEIVER = RANKS.receiver();

  private SharedSlots() {}

  /** Opens in a class of its own: this one can't be used by a second thread while it begins. */
  private record Pair(Transport sender, Transport receiver) {
    static Pair open(long bytes) {
      List<LocalGroup> groups = LocalGroup.of(2);
      var receiver =
          CompletableFuture.supplyAsync(() -> ShmTransport.provider().open(groups.get(1), bytes));
      return new Pair(ShmTransport.provider().open(groups.get(0), bytes), receiver.join());
    }
  }

  /** The offset of a slot that is zero in both windows. */
  static long next() {
    long slot = (long) (NEXT.getAndIncrement() & (SLOTS - 1)) * BYTES;
    SENDER.window().asSlice(slot, BYTES).fill((byte) 0);
    RECEIVER.window().asSlice(slot, BYTES).fill((byte) 0);
    return slot;
  }
}
