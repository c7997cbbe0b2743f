package org.verbena.moe;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/** The fused multiply-add of floats: a * b + c, rounded once. */
final class Fma {
  /**
   * Whether the processor has the instruction. Without it {@link Math#fma(float, float, float)}
   * goes through BigDecimal, on the heap. Every AArch64 has it; on x86-64, Linux tells.
   */
  static final boolean IN_HARDWARE =
      System.getProperty("os.arch").equals("aarch64") || isListed(Path.of("/proc/cpuinfo"));

  private Fma() {}

  static float fma(float a, float b, float c) {
    return IN_HARDWARE ? Math.fma(a, b, c) : emulate(a, b, c);
  }

  /**
   * The same bits without the instruction. The product of two floats is exact in double. Its sum
   * with a float is rounded to double, which never crosses a float or the middle between two, so
   * that rounding it again to float is wrong only from such a middle, or among subnormal floats.
   * There an inexact sum gets an odd last bit, which keeps it off the middle (Boldo and Melquiond,
   * "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
   */
  static float emulate(float a, float b, float c) {
    double product = (double) a * b;
    double sum = product + c;
    long bits = Double.doubleToRawLongBits(sum);
    boolean middle = (bits & 0x1FFF_FFFFL) == 0x1000_0000L;
    return middle || Math.abs(sum) < Float.MIN_NORMAL ? roundToOdd(product, c, sum) : (float) sum;
  }

  private static float roundToOdd(double product, double c, double sum) {
    // What the sum lost, exactly: Knuth's two-sum.
    double rest = sum - product;
    double error = (product - (sum - rest)) + (c - rest);
    long bits = Double.doubleToRawLongBits(sum);
    if (error != 0 && (bits & 1) == 0) {
      bits += (error > 0) == (sum > 0) ? 1 : -1;
    }
    return (float) Double.longBitsToDouble(bits);
  }

  private static boolean isListed(Path cpuinfo) {
    var flag = Pattern.compile("^flags\\s*:.*\\bfma\\b");
    try (var lines = Files.lines(cpuinfo)) {
      return lines.anyMatch(line -> flag.matcher(line).find());
    } catch (IOException _) {
      return false;
    }
  }
}
