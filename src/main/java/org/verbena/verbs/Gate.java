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
 * <p>Without a fence the store of {@code inside} and the load of {@code open} that follows could be
 * seen in the other order. Who shuts makes up for it by passing every other thread at a point of
 * order, after which a thread either finds the gate shut or is seen to be inside.
 */
final class Gate {
  private static final VarHandle INSIDE;
  private static final VarHandle OPEN;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      INSIDE = lookup.findVarHandle(Gate.class, "inside", boolean.class);
      OPEN = lookup.findVarHandle(Gate.class, "open", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  @SuppressWarnings("unused") // through INSIDE
  private boolean inside;

  @SuppressWarnings("unused") // through OPEN
  private boolean open;

  /** Whether the caller is inside now and must {@link #leave}; false if the gate is shut. */
  boolean enter() {
    INSIDE.setOpaque(this, true);
    if ((boolean) OPEN.getAcquire(this)) {
      return true;
    }
    leave();
    return false;
  }

  void leave() {
    INSIDE.setRelease(this, false);
  }

  /** From now on, or soon, lets in or not. Who is inside stays. */
  void setOpen(boolean value) {
    OPEN.setVolatile(this, value);
  }

  /** Lets nobody in and waits for who is inside; false if that takes longer than {@code limit}. */
  @SuppressWarnings("MustBeClosedChecker")
  boolean shut(Duration limit) {
    setOpen(false);
    Arena.ofShared().close(); // a handshake with every thread
    long start = System.nanoTime();
    while ((boolean) INSIDE.getAcquire(this)) {
      if (System.nanoTime() - start > limit.toNanos()) {
        return false;
      }
      Thread.onSpinWait();
    }
    return true;
  }
}
