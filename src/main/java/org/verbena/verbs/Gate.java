package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;

/**
 * Lets one thread at a time work on a native object that another thread may destroy: when {@link
 * #shut} has returned true, nobody is inside, and nobody gets in before it is opened again.
 * Entering costs a store and a load.
 *
 * <p>The store of {@code inside} is plain, so it and the load of {@code open} that follows could be
 * seen in the other order. Who shuts makes up for it by passing every other thread at a point of
 * order, after which a thread either finds the gate shut or is seen to be inside.
 */
class Gate {
  private static final VarHandle INSIDE;
  private static final VarHandle OPEN;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      INSIDE = lookup.findVarHandle(Gate.class, "inside", int.class);
      OPEN = lookup.findVarHandle(Gate.class, "open", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  // 0 or 1: the compiler tests an int faster than a boolean.
  @SuppressWarnings("unused") // through INSIDE
  private int inside;

  @SuppressWarnings("unused") // through OPEN
  private int open;

  /** Whether the caller is inside now and must {@link #leave}; false if the gate is shut. */
  final boolean enter() {
    inside = 1;
    if ((int) OPEN.getAcquire(this) != 0) {
      return true;
    }
    leave();
    return false;
  }

  final void leave() {
    VarHandle.releaseFence();
    inside = 0;
  }

  /** From now on, or soon, lets in or not. Who is inside stays. */
  final void setOpen(boolean value) {
    OPEN.setVolatile(this, value ? 1 : 0);
  }

  /** Lets nobody in and waits for who is inside; false if that takes longer than {@code limit}. */
  @SuppressWarnings("MustBeClosedChecker")
  final boolean shut(Duration limit) {
    setOpen(false);
    Arena.ofShared().close(); // a handshake with every thread
    long start = System.nanoTime();
    while ((int) INSIDE.getAcquire(this) != 0) {
      if (System.nanoTime() - start > limit.toNanos()) {
        return false;
      }
      Thread.onSpinWait();
    }
    return true;
  }
}
