package org.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * Writes of 8 bytes from a queue pair to another of this process, one at a time: the loop of {@code
 * native/benchmarks/write_self.c}. Prints the median nanoseconds of one.
 */
final class WriteToSelf {
  private static final VarHandle BYTE = ValueLayout.JAVA_BYTE.varHandle();
  private static final QueuePairOptions OPTIONS =
      QueuePairOptions.DEFAULTS.withDepths(16, 1).withInline(8);

  private WriteToSelf() {}

  /** Takes the number of writes, and of those before that warm up. */
  public static void main(String[] args) throws Exception {
    int count = Integer.parseInt(args[0]);
    int warmup = Integer.parseInt(args[1]);
    try (End near = new End(OPTIONS, 8192)) {
      QueuePair far =
          near.domain.createQueuePair(
              near.path, OPTIONS, near.context.createCompletionQueue(64), near.queue);
      near.pair.connect(far.endpoint());
      far.connect(near.pair.endpoint());
      long[] nanos = write(near, warmup + count);
      long[] measured = Arrays.copyOfRange(nanos, warmup, warmup + count);
      Arrays.sort(measured);
      System.out.println(measured[count / 2]);
    }
  }

  /** Returns the time from each post to the next. Waits as C does: its caller has the deadline. */
  private static long[] write(End end, int writes) {
    MemorySegment memory = end.region.memory();
    SendRequests write =
        end.pair
            .sendRequests(1, 1)
            .write(end.region.remote(), 0)
            .from(end.region, 4096, 8)
            .signaled()
            .inline();
    Completions found = new Completions(1);
    long[] nanos = new long[writes];
    long last = 0;
    for (int i = 0; i <= writes; i++) {
      memory.set(ValueLayout.JAVA_BYTE, 4096 + 7, (byte) (i + 1));
      long now = System.nanoTime();
      if (i > 0) {
        nanos[i - 1] = now - last;
      }
      last = now;
      end.pair.post(write);
      while (end.queue.poll(found) == 0) {}
      found.requireSuccess(0);
      while ((byte) BYTE.getAcquire(memory, 7L) != (byte) (i + 1)) {}
    }
    return nanos;
  }
}
