package org.verbena.cluster;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Finds in the kernel's log what no test may cause: warnings, lock-ups and errors of rxe. */
final class KernelLog {
  private static final Pattern TIME = Pattern.compile("^\\[\\s*(\\d+\\.\\d+)\\]");
  private static final Pattern FAULT =
      Pattern.compile(
          "WARNING: |\\bBUG: |\\bOops\\b|Kernel panic|Call Trace:|soft lockup|hard LOCKUP"
              + "|blocked for more than|detected stalls|self-detected stall"
              + "|general protection fault|refcount_t: |KASAN|UBSAN"
              + "|rxe.*\\b(?:error|failed|timed out|leaked)\\b");

  /** What rxe says of every request that a test makes fail, such as one with a wrong key. */
  private static final Pattern WANTED =
      Pattern.compile("(?:make_send_cqe|do_complete): non-flush error status = \\d+$");

  private KernelLog() {}

  /** Returns the seconds since the kernel's start of the last line, or 0. */
  static double lastTime(String dmesg) {
    return dmesg.lines().mapToDouble(KernelLog::time).max().orElse(0);
  }

  /** Returns the lines later than {@code after} seconds that tell of a fault. */
  static List<String> faults(String dmesg, double after) {
    return dmesg
        .lines()
        .filter(line -> time(line) > after)
        .filter(line -> FAULT.matcher(line).find() && !WANTED.matcher(line).find())
        .toList();
  }

  private static double time(String line) {
    Matcher matcher = TIME.matcher(line);
    return matcher.find() ? Double.parseDouble(matcher.group(1)) : 0;
  }
}
