package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Lets one thread at a time work on a native object that another thread may destroy: once {@link
 * #close()} has returned, nobody is inside and nobody gets in. Entering costs a store and a load.
 *
 * <p>Without a fence the store of {@code inside} and the check that follows could be seen in the
 * other order. Closing a shared arena makes up for it: it stops or passes every other thread at a
 * point of order, after which a thread either finds the arena closed or is seen to be inside.
 */
final class Gate {
  private static final VarHandle INSIDE;

  static {
    try {
      INSIDE = MethodHandles.lookup().findVarHandle(Gate.class, "inside", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Arena arena = Arena.ofShared();
  private final MemorySegment alive = arena.allocate(1);

  @SuppressWarnings("unused") // through INSIDE
  private boolean inside;

  /** Throws {@link IllegalStateException} if closed. A {@link #leave()} must follow even then. */
  void enter() {
    INSIDE.setOpaque(this, true);
    var _ = alive.get(ValueLayout.JAVA_BYTE, 0);
  }

  void leave() {
    INSIDE.setRelease(this, false);
  }

  /** Waits for who is inside; what is done there does not block. */
  void close() {
    arena.close();
    while ((boolean) INSIDE.getAcquire(this)) {
      Thread.onSpinWait();
    }
  }
}
