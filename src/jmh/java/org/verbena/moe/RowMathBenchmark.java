package org.verbena.moe;

import static java.nio.file.StandardOpenOption.DELETE_ON_CLOSE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** The weighted sum of 8 rows, which lie by turns in native and in mapped memory. */
@State(Scope.Thread)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 2)
@Measurement(iterations = 5, time = 1)
@Fork(
    value = 1,
    jvmArgsAppend = {"--add-modules=jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"})
public class RowMathBenchmark {
  private static final int ROWS = 8;

  @Param({"scalar", "vector"})
  private String implementation = "";

  @Param({"7168", "1000"})
  private int hidden;

  private final Arena arena = Arena.ofShared();
  private final long[] rows = new long[ROWS];
  private final float[] weights = new float[ROWS];
  private RowMath math = new ScalarRowMath();
  private MemorySegment[] in = {};
  private MemorySegment out = MemorySegment.NULL;
  private int turn;

  /** Called by JMH. */
  public RowMathBenchmark() {}

  @Setup
  public void fill() throws IOException {
    math = implementation.equals("vector") ? new VectorRowMath() : new ScalarRowMath();
    long bytes = 2L * ROWS * hidden;
    var file = Files.createTempFile("rows", null);
    try (var channel = FileChannel.open(file, READ, WRITE, DELETE_ON_CLOSE)) {
      in =
          new MemorySegment[] {
            arena.allocate(bytes, 64), channel.map(MapMode.READ_WRITE, 0, bytes, arena)
          };
    }
    out = arena.allocate(2L * hidden, 64);
    for (int row = 0; row < ROWS; row++) {
      rows[row] = 2L * row * hidden;
      weights[row] = 0.1f + 0.01f * row;
      for (int column = 0; column < hidden; column++) {
        float value = (float) Math.sin(row * 31.0 + column);
        in[0].set(ValueLayout.JAVA_SHORT, rows[row] + 2L * column, Bf16.fromFloat(value));
      }
    }
    in[1].copyFrom(in[0]);
  }

  @Benchmark
  public void weightedSum() {
    math.weightedSum(out, 0, hidden, in[turn++ & 1], rows, weights, ROWS);
  }

  @TearDown
  public void close() {
    arena.close();
  }
}
