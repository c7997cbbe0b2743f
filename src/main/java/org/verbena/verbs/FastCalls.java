package org.verbena.verbs;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.verbena.ffi.ibv_context;
import org.verbena.ffi.ibv_context_ops;

/**
 * The functions that have no symbol. Their pointers lie in the context, at a distance from {@code
 * struct ibv_context} that all versions of the library share. All devices of a provider have the
 * same ones, and a process mostly uses one provider: those that come first are constants for the
 * compiler, which then has nothing to check about them in each call.
 */
@SuppressWarnings("restricted")
record FastCalls(
    Provider provider,
    MemorySegment postSend,
    MemorySegment postRecv,
    MemorySegment postSrqRecv,
    MemorySegment pollCq,
    MemorySegment reqNotifyCq) {
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
   * For functions that are short, block nowhere and never call back: the thread need not leave the
   * Java state for them. For a system call it must.
   */
  private static final MethodHandle CRITICAL_POST =
      Linker.nativeLinker().downcallHandle(POST, Linker.Option.critical(false));

  private static final MethodHandle CRITICAL_POLL =
      Linker.nativeLinker().downcallHandle(POLL, Linker.Option.critical(false));

  private static @Nullable FastCalls first;

  /** Made once there is a first. Fields of a constant record are constants too. */
  private static final class Constant {
    static final FastCalls CALLS = Objects.requireNonNull(first);
  }

  /** Those of {@code context}, which {@code driver} opened. */
  static FastCalls of(MemorySegment context, Driver driver) {
    MemorySegment ops = context.asSlice(ibv_context.ops$offset(), ibv_context_ops.sizeof());
    FastCalls calls =
        new FastCalls(
            driver.provider(ibv_context_ops.poll_cq(ops)),
            ibv_context_ops.post_send(ops),
            ibv_context_ops.post_recv(ops),
            ibv_context_ops.post_srq_recv(ops),
            ibv_context_ops.poll_cq(ops),
            ibv_context_ops.req_notify_cq(ops));
    return calls.equals(firstOr(calls)) ? Constant.CALLS : calls;
  }

  /** Whether these are the functions that came first; static, as no receiver is checked then. */
  @SuppressWarnings("ReferenceEquality") // equal ones were made the same
  static boolean areConstant(FastCalls calls) {
    return calls == Constant.CALLS;
  }

  private static synchronized FastCalls firstOr(FastCalls calls) {
    if (first == null) {
      first = calls;
    }
    return first;
  }

  /** Calls {@code post_send} of the functions that came first. */
  static int constantPostSend(long queuePair, long chain, long refused) {
    return Constant.CALLS.postSend(queuePair, chain, refused);
  }

  /**
   * Calls {@code post_send}.
   *
   * @param refused where the device puts the address of a request that it refuses
   */
  int postSend(long queuePair, long chain, long refused) {
    return post(postSend, queuePair, chain, refused);
  }

  /** Calls {@code post_recv}. */
  int postRecv(long queuePair, long chain, long refused) {
    return post(postRecv, queuePair, chain, refused);
  }

  /** Calls {@code post_srq_recv}. */
  int postSrqRecv(long queue, long chain, long refused) {
    return post(postSrqRecv, queue, chain, refused);
  }

  /** Calls {@code poll_cq} of {@code calls}. */
  static int pollCq(FastCalls calls, long queue, int most, long completions) {
    return areConstant(calls)
        ? Constant.CALLS.poll(Constant.CALLS.pollCq, queue, most, completions)
        : calls.poll(calls.pollCq, queue, most, completions);
  }

  /** Calls {@code req_notify_cq}. */
  int reqNotifyCq(MemorySegment queue, boolean solicitedOnly) {
    return ibv_context_ops.req_notify_cq.invoke(reqNotifyCq, queue, solicitedOnly ? 1 : 0);
  }

  private int post(MemorySegment function, long queue, long chain, long refused) {
    try {
      return provider.postsInUserSpace()
          ? (int) CRITICAL_POST.invokeExact(function, queue, chain, refused)
          : (int) CALL_POST.invokeExact(function, queue, chain, refused);
    } catch (Throwable e) {
      throw thrown(e);
    }
  }

  private int poll(MemorySegment function, long queue, int most, long completions) {
    try {
      return provider.pollsInUserSpace()
          ? (int) CRITICAL_POLL.invokeExact(function, queue, most, completions)
          : (int) CALL_POLL.invokeExact(function, queue, most, completions);
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
