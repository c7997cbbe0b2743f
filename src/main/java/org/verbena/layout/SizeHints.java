package org.verbena.layout;

import static java.lang.Math.addExact;
import static java.lang.Math.max;
import static java.lang.Math.multiplyExact;

/** Two published formulas for the size of an expert-parallel buffer, for comparison. */
final class SizeHints {
  private SizeHints() {}

  /**
   * Send and receive regions for messages and rows, a 32-bit count per peer and a 32-bit flag per
   * slot; a half rounded up to 4096 bytes, two halves.
   */
  static long verbena(ExchangeShape shape) {
    long slots = multiplyExact((long) shape.ranks(), (long) shape.tokens());
    long messages = multiplyExact(slots, BufferLayout.messageBytes(shape));
    long rows = multiplyExact(slots, BufferLayout.rowBytes(shape));
    long counts = 4L * shape.ranks();
    long flags = multiplyExact(4, slots);
    long data = multiplyExact(2, addExact(messages, rows));
    return multiplyExact(2, BufferLayout.align(addExact(data, addExact(counts, flags)), 4096));
  }

  /** What {@code get_low_latency_rdma_size_hint} of DeepEP returns; divisions round down. */
  static long deepEp(ExchangeShape shape) {
    long hidden = shape.hidden();
    long scales = 4 * (hidden / 128);
    long dispatchMessage = 16 + max(2 * hidden, hidden + scales);
    long combineMessage = scales + 2 * hidden;
    long tokens = shape.tokens();
    long expertTokens = multiplyExact((long) shape.experts(), tokens);
    long combine = multiplyExact(expertTokens, combineMessage);
    long send = max(multiplyExact(tokens, dispatchMessage), combine);
    long receive = max(multiplyExact(expertTokens, dispatchMessage), combine);
    long signals = BufferLayout.align(4L * shape.experts(), 128);
    long total = multiplyExact(2, addExact(addExact(send, receive), signals));
    return addExact(total, 128) / 128 * 128;
  }
}
