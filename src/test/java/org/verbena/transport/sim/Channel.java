package org.verbena.transport.sim;

import java.util.ArrayDeque;
import java.util.Deque;

/** What is under way from one rank to another: it arrives and completes in the order of posting. */
final class Channel {
  private final Deque<Message> travelling = new ArrayDeque<>();

  /** Writes that are not complete, those that have arrived first. */
  private final Deque<Message> incomplete = new ArrayDeque<>();

  private long posted;
  private long completed;

  long post(Message message) {
    travelling.add(message);
    if (!message.isSignal()) {
      incomplete.add(message);
      posted++;
    }
    return posted;
  }

  Deque<Message> travelling() {
    return travelling;
  }

  Deque<Message> incomplete() {
    return incomplete;
  }

  boolean canComplete() {
    Message oldest = incomplete.peek();
    return oldest != null && oldest.hasArrived();
  }

  void complete() {
    incomplete.remove();
    completed++;
  }

  boolean isComplete(long ticket) {
    return ticket <= completed;
  }
}
