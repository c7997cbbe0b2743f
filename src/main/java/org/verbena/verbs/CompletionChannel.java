package org.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Lets a thread sleep until something completes. One thread waits at a time; others may close the
 * channel meanwhile.
 */
public final class CompletionChannel extends Resource {
  /** How long a wait may keep a closing thread waiting. */
  private static final long SLICE_MILLIS = 50;

  private final Context context;
  private final MemorySegment handle;
  private final ReentrantLock waiting = new ReentrantLock();

  CompletionChannel(Context context, MemorySegment handle) {
    super(context);
    this.context = context;
    this.handle = handle;
    attach();
  }

  Context context() {
    return context;
  }

  MemorySegment handle() {
    return handle;
  }

  /**
   * Waits for a completion queue of this channel to have completed something since its {@link
   * CompletionQueue#requestNotification}. Poll that queue after asking and before waiting, else a
   * completion that came in between goes unnoticed.
   *
   * @return whether one did within {@code timeout}
   */
  public boolean await(Duration timeout) {
    long deadline = System.nanoTime() + timeout.toNanos();
    while (true) {
      long left = Math.max(0, deadline - System.nanoTime()) / 1_000_000;
      waiting.lock();
      try {
        requireOpen();
        MemorySegment cq =
            context.driver().awaitCqEvent(handle, (int) Math.min(left, SLICE_MILLIS));
        if (cq.address() != 0) {
          return true;
        }
      } catch (Errno e) {
        throw context.failure("ibv_get_cq_event", e, "waiting for a completion");
      } finally {
        waiting.unlock();
      }
      if (left == 0) {
        return false;
      }
    }
  }

  @Override
  int closingOrder() {
    return 4;
  }

  @Override
  void destroy() {
    waiting.lock();
    try {
      context.driver().destroyCompChannel(handle);
    } catch (Errno e) {
      throw context.failure("ibv_destroy_comp_channel", e, "destroying a completion channel");
    } finally {
      waiting.unlock();
    }
  }

  @Override
  public String toString() {
    return "completion channel of " + context.name();
  }
}
