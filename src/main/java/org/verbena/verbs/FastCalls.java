package org.verbena.verbs;

import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;
import org.verbena.ffi.ibv_context;
import org.verbena.ffi.ibv_context_ops;

/**
 * Calls of the functions that have no symbol. Their pointers lie in the context, at a distance from
 * {@code struct ibv_context} that all versions of the library share.
 */
final class FastCalls {
  /**
   * Polling is short, blocks nowhere and never calls back, so the thread need not leave the Java
   * state for it. Posting may end in a system call, so it must.
   */
  @SuppressWarnings("restricted")
  private static final MethodHandle CRITICAL_POLL =
      Linker.nativeLinker()
          .downcallHandle(ibv_context_ops.poll_cq.descriptor(), Linker.Option.critical(false));

  private FastCalls() {}

  private static MemorySegment ops(MemorySegment context) {
    return context.asSlice(ibv_context.ops$offset(), ibv_context_ops.sizeof());
  }

  static MemorySegment pollCq(MemorySegment context) {
    return ibv_context_ops.poll_cq(ops(context));
  }

  static MemorySegment reqNotifyCq(MemorySegment context) {
    return ibv_context_ops.req_notify_cq(ops(context));
  }

  static MemorySegment postSend(MemorySegment context) {
    return ibv_context_ops.post_send(ops(context));
  }

  static MemorySegment postRecv(MemorySegment context) {
    return ibv_context_ops.post_recv(ops(context));
  }

  static MemorySegment postSrqRecv(MemorySegment context) {
    return ibv_context_ops.post_srq_recv(ops(context));
  }

  static int criticalPoll(
      MemorySegment function, MemorySegment cq, int max, MemorySegment completions) {
    try {
      return (int) CRITICAL_POLL.invokeExact(function, cq, max, completions);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new AssertionError("a downcall throws nothing else", e);
    }
  }
}
