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
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.verbena.ffi.ibv_cq;
import org.verbena.ffi.ibv_qp;
import org.verbena.ffi.ibv_send_wr;

/**
 * One signaled write posted and its completion polled, with C functions that do nothing behind the
 * pointers of the context: what this library adds, beside a loop in C. Needs cc and libibverbs-dev.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 3, jvmArgsAppend = "--enable-native-access=ALL-UNNAMED")
public class PostPollBenchmark {
  private static final int TIMES = 1000;

  private final Completions found = new Completions(1);
  private final QueuePair pair;
  private final CompletionQueue queue;
  private final SendRequests chain;
  private final MethodHandle loop;
  private final MemorySegment qp = Arena.global().allocate(ibv_qp.layout());
  private final MemorySegment cq = Arena.global().allocate(ibv_cq.layout());
  private final MemorySegment wr = Arena.global().allocate(ibv_send_wr.layout());
  private final MemorySegment refused = Arena.global().allocate(ValueLayout.ADDRESS);
  private final MemorySegment post;
  private final MemorySegment poll;

  /** Called by JMH. */
  @SuppressWarnings("restricted")
  public PostPollBenchmark() {
    SymbolLookup library = SymbolLookup.libraryLookup(compile(), Arena.global());
    StandIn device = new StandIn();
    device.useFunctions(
        library.findOrThrow("do_nothing_post_send"), library.findOrThrow("do_nothing_poll_cq"));
    Loop ends = new Loop(device, QueuePairOptions.DEFAULTS.withInline(8));
    pair = ends.near;
    queue = ends.sendQueue;
    chain = pair.sendRequests(1, 1).write(ends.remote.remote(), 0).fromLong(1).signaled();
    loop =
        Linker.nativeLinker()
            .downcallHandle(
                library.findOrThrow("post_and_poll"),
                FunctionDescriptor.of(
                    ValueLayout.JAVA_LONG,
                    ValueLayout.ADDRESS,
                    ValueLayout.ADDRESS,
                    ValueLayout.ADDRESS,
                    ValueLayout.JAVA_LONG));
    post = FastCalls.postSend(ends.context.handle());
    poll = FastCalls.pollCq(ends.context.handle());
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
  public int java() {
    if (!pair.post(chain)) {
      throw new IllegalStateException("no slot");
    }
    return queue.poll(found);
  }

  /** The two calls alone, linked as {@link #java} has them: the least that Java's linker takes. */
  @Benchmark
  public int calls() {
    return FastCalls.post(post, qp.address(), wr.address(), refused.address())
        + FastCalls.criticalPoll(poll, cq.address(), 1, found.address());
  }

  @Benchmark
  @OperationsPerInvocation(TIMES)
  public long c() throws Throwable {
    long failed = (long) loop.invokeExact(qp, cq, wr, (long) TIMES);
    if (failed != 0) {
      throw new IllegalStateException(failed + " failed");
    }
    return failed;
  }
}
