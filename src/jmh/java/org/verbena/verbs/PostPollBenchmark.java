package org.verbena.verbs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.CompilerControl;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.verbena.ffi.ibv_cq;
import org.verbena.ffi.ibv_qp;
import org.verbena.ffi.ibv_send_wr;

/**
 * One signaled write posted and its completion polled, a thousand times, with C functions that do
 * nothing behind the pointers of the context: what this library adds, beside the same loop in C.
 * Needs cc and libibverbs-dev.
 */
@SuppressWarnings({"restricted", "NullAway.Init"}) // fields are set by open
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 20, time = 200, timeUnit = TimeUnit.MILLISECONDS)
@Fork(value = 5, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
public class PostPollBenchmark {
  private static final int TIMES = 1000;

  /** What {@link Provider} says of the device: a false one is called as rxe is. */
  @Param({"true", "false"})
  private boolean postsInUserSpace;

  private final Completions found = new Completions(1);
  private final SymbolLookup library = SymbolLookup.libraryLookup(compile(), Arena.global());
  private final MethodHandle loop =
      Linker.nativeLinker()
          .downcallHandle(
              library.findOrThrow("post_and_poll"),
              FunctionDescriptor.of(
                  ValueLayout.JAVA_LONG,
                  ValueLayout.ADDRESS,
                  ValueLayout.ADDRESS,
                  ValueLayout.ADDRESS,
                  ValueLayout.JAVA_LONG));
  private final MemorySegment qp = Arena.global().allocate(ibv_qp.layout());
  private final MemorySegment cq = Arena.global().allocate(ibv_cq.layout());
  private final MemorySegment wr = Arena.global().allocate(ibv_send_wr.layout());
  private final MemorySegment refused = Arena.global().allocate(ValueLayout.ADDRESS);
  private QueuePair pair;
  private CompletionQueue queue;
  private SendRequests chain;
  private FastCalls calls;

  /** Called by JMH. */
  public PostPollBenchmark() {}

  /** Opens the device. */
  @Setup
  public void open() {
    StandIn device = new StandIn();
    device.useFunctions(
        library.findOrThrow("do_nothing_post_send"),
        library.findOrThrow("do_nothing_poll_cq"),
        new Provider(true, postsInUserSpace));
    Loop ends = new Loop(device, QueuePairOptions.DEFAULTS.withInline(8));
    pair = ends.near;
    queue = ends.sendQueue;
    chain = pair.sendRequests(1, 1).write(ends.remote.remote(), 0).fromLong(1).id(2).signaled();
    calls = ends.context.calls();
    ibv_qp.context(qp, ends.context.handle());
    ibv_cq.context(cq, ends.context.handle());
  }

  private static Path compile() {
    try {
      Path library = Files.createTempFile("do_nothing", ".so");
      library.toFile().deleteOnExit();
      String source = "native/benchmarks/do_nothing.c";
      Process compiler =
          new ProcessBuilder("cc", "-O2", "-shared", "-fPIC", "-o", library.toString(), source)
              .inheritIO()
              .start();
      if (compiler.waitFor() != 0) {
        throw new IllegalStateException("cc failed; is libibverbs-dev installed?");
      }
      return library;
    } catch (IOException e) {
      throw new UncheckedIOException("cc cannot be run", e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Benchmark
  @CompilerControl(CompilerControl.Mode.DONT_INLINE)
  @OperationsPerInvocation(TIMES)
  public long java() {
    int failed = 0;
    for (int i = 0; i < TIMES; i++) {
      if (!pair.post(chain) || queue.poll(found) != 1) {
        failed++;
      }
    }
    return requireNone(failed);
  }

  /** The two calls alone, linked as {@link #java} has them: the least that Java's linker takes. */
  @Benchmark
  @CompilerControl(CompilerControl.Mode.DONT_INLINE)
  @OperationsPerInvocation(TIMES)
  public int calls() {
    int sum = 0;
    for (int i = 0; i < TIMES; i++) {
      sum +=
          FastCalls.constantPostSend(qp.address(), wr.address(), refused.address())
              + FastCalls.pollCq(calls, cq.address(), 1, found.address());
    }
    return sum;
  }

  @Benchmark
  @OperationsPerInvocation(TIMES)
  public long c() throws Throwable {
    return requireNone((long) loop.invokeExact(qp, cq, wr, (long) TIMES));
  }

  private static long requireNone(long failed) {
    if (failed != 0) {
      throw new IllegalStateException(failed + " failed");
    }
    return failed;
  }
}
