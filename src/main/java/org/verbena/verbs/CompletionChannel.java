package org.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import org.verbena.ffi.ibv_comp_channel;

/**
 * Lets a thread sleep until something completes. One thread waits at a time; others may close the
 * channel meanwhile. {@link CompletionQueue#await} does all that is needed for one queue.
 */
public final class CompletionChannel extends Resource {
  private final Context context;
  private final MemorySegment handle;
  private final EventSource events;

  CompletionChannel(Context context, MemorySegment handle) {
    super(context);
    this.context = context;
    this.handle = handle;
    this.events = new EventSource(this, context.driver(), ibv_comp_channel.fd(handle));
    attach();
  }

  Context context() {
    return context;
  }

  @Override
  MemorySegment handle() {
    return handle;
  }

  /**
   * Waits for a completion queue of this channel to have completed something since its {@link
   * CompletionQueue#requestNotification}. Poll that queue after asking and before waiting, else a
   * completion that came in between goes unnoticed. The event is acknowledged when this returns.
   *
   * @return whether one did within {@code timeout}
   * @throws InterruptedException if this thread is interrupted, within 50 ms
   */
  public boolean await(Duration timeout) throws InterruptedException {
    try {
      return events.await(timeout, this::take) != null;
    } catch (Errno e) {
      throw context.failure("ibv_get_cq_event", e, "waiting for a completion");
    }
  }

  private Boolean take() throws Errno {
    context.driver().takeCqEvent(handle);
    return true;
  }

  @Override
  int closingOrder() {
    return 4;
  }

  @Override
  void destroy() {
    events.close(this::destroyHandle);
  }

  private void destroyHandle() {
    try {
      context.driver().destroyCompChannel(handle);
    } catch (Errno e) {
      throw context.failure("ibv_destroy_comp_channel", e, "destroying a completion channel");
    }
  }

  @Override
  public String toString() {
    return "completion channel of " + context.name();
  }
}
