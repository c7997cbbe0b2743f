package org.verbena.moe;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigDecimal;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class RowMathTest {
  private static final ValueLayout.OfShort BF16 =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final int[] WIDTHS = {8, 16, 24, 32, 40, 48, 56, 64, 72, 256, 1000, 7168};

  private final long seed = Long.getLong("verbena.seed", System.nanoTime());
  private final Random random = new Random(seed);

  static List<RowMath> implementations() {
    return List.of(new ScalarRowMath(), new VectorRowMath());
  }

  @ParameterizedTest
  @MethodSource("implementations")
  void addsUpInOrderAndRoundsOnce(RowMath math) {
    printSeed();
    for (int i = 0; i < 60; i++) {
      // Mostly short rows: the reference is slow.
      var sum = new Sum(WIDTHS[random.nextInt(i < 58 ? 9 : WIDTHS.length)], random.nextInt(10));
      sum.fill(random.nextInt(3));
      var found = sum.run(math);
      for (int column = 0; column < sum.hidden; column++) {
        short expected = sum.expected(column);
        assertThat(found[column]).as("%s, column %d of %s", math, column, sum).isEqualTo(expected);
      }
    }
  }

  @Test
  void scalarAndVectorAgreeToTheBit() {
    printSeed();
    for (int i = 0; i < 3000; i++) {
      var sum = new Sum(WIDTHS[random.nextInt(WIDTHS.length)], random.nextInt(10));
      sum.fill(random.nextInt(3));
      assertThat(sum.run(new VectorRowMath())).isEqualTo(sum.run(new ScalarRowMath()));
    }
  }

  @ParameterizedTest
  @MethodSource("implementations")
  void staysNearTheSumInDoublePrecision(RowMath math) {
    printSeed();
    var sum = new Sum(7168, 8);
    for (int row = 0; row < sum.n; row++) {
      sum.weights[row] = Math.abs((float) random.nextGaussian());
      for (int column = 0; column < sum.hidden; column++) {
        sum.set(row, column, Bf16.fromFloat((float) random.nextGaussian() * 0.1f));
      }
    }
    var found = sum.run(math);
    for (int column = 0; column < sum.hidden; column++) {
      double exact = 0;
      double magnitude = 0;
      for (int row = 0; row < sum.n; row++) {
        double term = (double) sum.weights[row] * Bf16.toFloat(sum.get(row, column));
        exact += term;
        magnitude += Math.abs(term);
      }
      // Half a step of bf16, and the float sum's own errors.
      double bound = Math.abs(exact) * 0x1p-8 + magnitude * 8 * 0x1p-23;
      assertThat((double) Bf16.toFloat(found[column])).isCloseTo(exact, within(bound));
    }
  }

  @ParameterizedTest
  @MethodSource("implementations")
  void doesNotRoundInBetween(RowMath math) {
    var sum = new Sum(8, 8);
    Arrays.fill(sum.weights, 1f);
    for (int row = 0; row < 8; row++) {
      for (int column = 0; column < 8; column++) {
        sum.set(row, column, Bf16.fromFloat(row == 0 ? 256 : 1));
      }
    }
    // Rounded after each term it would stay 256.
    assertThat(sum.run(math)).containsOnly(Bf16.fromFloat(264));
  }

  @ParameterizedTest
  @MethodSource("implementations")
  void noRowsGiveZeros(RowMath math) {
    assertThat(new Sum(1000, 0).run(math)).containsOnly((short) 0);
  }

  @ParameterizedTest
  @MethodSource("implementations")
  void writesOverOneOfTheRows(RowMath math) {
    var sum = new Sum(1000, 3);
    sum.fill(0);
    var expected = sum.run(math);
    math.weightedSum(sum.in, sum.rows[1], sum.hidden, sum.in, sum.rows, sum.weights, sum.n);
    for (int column = 0; column < sum.hidden; column++) {
      assertThat(sum.get(1, column)).isEqualTo(expected[column]);
    }
  }

  @ParameterizedTest
  @MethodSource("implementations")
  void refusesRowsOutsideTheirSegment(RowMath math) {
    for (int hidden : new int[] {8, 1024}) {
      var sum = new Sum(hidden, 1);
      sum.rows[0] = sum.in.byteSize() - 2L * hidden + 2;
      assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> sum.run(math));
      sum.rows[0] = -2;
      assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> sum.run(math));
    }
  }

  @Test
  void vectorsRefuseMemoryThatTheyMayNotUse() {
    var math = new VectorRowMath();
    var sum = new Sum(1024, 1);
    var heap = MemorySegment.ofArray(new int[1024]);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> math.weightedSum(heap, 0, 1024, sum.in, sum.rows, sum.weights, 1))
        .withMessageContaining("heap");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> math.weightedSum(sum.in, 0, 1024, heap, sum.rows, sum.weights, 1))
        .withMessageContaining("heap");
    var constant = sum.in.asReadOnly();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> math.weightedSum(constant, 0, 1024, sum.in, sum.rows, sum.weights, 1))
        .withMessageContaining("read-only");
    MemorySegment closed;
    try (var arena = Arena.ofConfined()) {
      closed = arena.allocate(4096);
    }
    assertThatIllegalStateException()
        .isThrownBy(() -> math.weightedSum(closed, 0, 1024, sum.in, sum.rows, sum.weights, 1))
        .withMessageContaining("closed");
  }

  @Test
  void choosesVectorsUnlessToldOtherwise() {
    Class<?> fastest = Fma.IN_HARDWARE ? VectorRowMath.class : ScalarRowMath.class;
    assertThat(RowMath.choose()).isInstanceOf(fastest);
    System.setProperty("verbena.vector", "false");
    try {
      assertThat(RowMath.choose()).isInstanceOf(ScalarRowMath.class);
    } finally {
      System.clearProperty("verbena.vector");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void choosesScalarWithoutTheModuleAndNamesTheFlag(boolean asModule)
      throws IOException, InterruptedException {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    if (asModule) {
      command.addAll(List.of("--module-path", "target/classes"));
      command.addAll(List.of("--patch-module", "org.verbena=target/test-classes"));
      command.addAll(List.of("--module", "org.verbena/" + Choice.class.getName()));
    } else {
      command.addAll(List.of("--class-path", "target/classes:target/test-classes"));
      command.add(Choice.class.getName());
    }
    var process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      var output = new String(process.getInputStream().readAllBytes(), UTF_8);
      assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
      assertThat(output).contains("chose ScalarRowMath", "--add-modules jdk.incubator.vector");
    } finally {
      process.destroyForcibly();
    }
  }

  /** Started in a Java without the vector module. */
  static final class Choice {
    public static void main(String[] args) {
      System.out.println("chose " + RowMath.choose().getClass().getSimpleName());
    }
  }

  private void printSeed() {
    System.out.println("RowMathTest: -Dverbena.seed=" + seed);
  }

  /** Rows at odd places in memory, and a place for their sum between two guards. */
  private final class Sum {
    final int hidden;
    final int n;
    final MemorySegment in;
    final long[] rows;
    final float[] weights;

    Sum(int hidden, int n) {
      this.hidden = hidden;
      this.n = n;
      long stride = 2L * hidden + 6;
      in = Arena.ofAuto().allocate(n * stride + 2);
      rows = new long[n + 1];
      weights = new float[n + 1];
      for (int row = 0; row < n; row++) {
        rows[row] = row * stride + 2;
        weights[row] = (float) random.nextGaussian();
      }
      // Ignored, else it would show: not a number, and no place.
      rows[n] = Long.MIN_VALUE;
      weights[n] = Float.NaN;
    }

    /** Ordinary numbers, numbers of few bits and many signs and zeros, or any bits at all. */
    void fill(int kind) {
      for (int row = 0; row < n; row++) {
        if (kind == 2 && random.nextInt(4) == 0) {
          weights[row] = Float.intBitsToFloat(random.nextInt());
        }
        for (int column = 0; column < hidden; column++) {
          set(
              row,
              column,
              switch (kind) {
                case 0 -> Bf16.fromFloat((float) random.nextGaussian());
                case 1 -> Bf16.fromFloat(Math.scalb(random.nextInt(-3, 4), random.nextInt(-9, 9)));
                default -> (short) random.nextInt();
              });
        }
      }
    }

    void set(int row, int column, short value) {
      in.set(BF16, rows[row] + 2L * column, value);
    }

    short get(int row, int column) {
      return in.get(BF16, rows[row] + 2L * column);
    }

    short[] run(RowMath math) {
      int guard = 10;
      var out = Arena.ofAuto().allocate(2L * hidden + 2L * guard).fill((byte) 0x5A);
      math.weightedSum(out, guard, hidden, in, rows, weights, n);
      var result = new short[hidden];
      for (int column = 0; column < hidden; column++) {
        result[column] = out.get(BF16, guard + 2L * column);
      }
      for (int i = 0; i < guard; i++) {
        assertThat(out.get(ValueLayout.JAVA_BYTE, i)).isEqualTo((byte) 0x5A);
        assertThat(out.get(ValueLayout.JAVA_BYTE, out.byteSize() - 1 - i)).isEqualTo((byte) 0x5A);
      }
      return result;
    }

    /** From the definition, with unbounded arithmetic in place of the fused multiply-add. */
    short expected(int column) {
      float sum = 0;
      for (int row = 0; row < n; row++) {
        float value = Bf16.toFloat(get(row, column));
        double product = (double) weights[row] * value;
        float next = (float) (product + sum);
        if (Double.isFinite(product) && Float.isFinite(sum)) {
          var exact = new BigDecimal(product).add(new BigDecimal(sum));
          if (exact.signum() != 0) {
            next = Math.copySign(exact.floatValue(), exact.signum());
          }
        }
        sum = next;
      }
      return Bf16.fromFloat(sum);
    }

    @Override
    public String toString() {
      return n + " rows of " + hidden + ", weights " + Arrays.toString(weights);
    }
  }
}
