package org.verbena.verbs;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import org.verbena.ffi.ibv_context;
import org.verbena.ffi.ibv_context_ops;

/**
 * Calls of the functions that have no symbol. Their pointers lie in the context, at a distance from
 * {@code struct ibv_context} that all versions of the library share.
 */
@SuppressWarnings("restricted")
final class FastCalls {
  // Pointers go as longs: they are not of memory that a call would have to keep alive.
  private static final FunctionDescriptor POST =
      FunctionDescriptor.of(
          ValueLayout.JAVA_INT,
          ValueLayout.JAVA_LONG,
          ValueLayout.JAVA_LONG,
          ValueLayout.JAVA_LONG);
  private static final FunctionDescriptor POLL =
      FunctionDescriptor.of(
          ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG);

  private static final MethodHandle CALL_POST = Linker.nativeLinker().downcallHandle(POST);
  private static final MethodHandle CALL_POLL = Linker.nativeLinker().downcallHandle(POLL);

  /**
   * Polling is short, blocks nowhere and never calls back, so the thread need not leave the Java
   * state for it. Posting may end in a system call, so it must.
   */
  private static final MethodHandle CRITICAL_POLL =
      Linker.nativeLinker().downcallHandle(POLL, Linker.Option.critical(false));

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

  /** Calls {@code post_send}, {@code post_recv} or {@code post_srq_recv}. */
  static int post(MemorySegment function, long queue, long chain, long refused) {
    try {
      return (int) CALL_POST.invokeExact(function, queue, chain, refused);
    } catch (Throwable e) {
      throw thrown(e);
    }
  }

  static int poll(MemorySegment function, long queue, int most, long completions) {
    try {
      return (int) CALL_POLL.invokeExact(function, queue, most, completions);
    } catch (Throwable e) {
      throw thrown(e);
    }
  }

  static int criticalPoll(MemorySegment function, long queue, int most, long completions) {
    try {
      return (int) CRITICAL_POLL.invokeExact(function, queue, most, completions);
    } catch (Throwable e) {
      throw thrown(e);
    }
  }

  private static RuntimeException thrown(Throwable e) {
    return switch (e) {
      case RuntimeException known -> known;
      case Error error -> throw error;
      default -> throw new AssertionError("a downcall throws nothing else", e);
    };
  }
}
