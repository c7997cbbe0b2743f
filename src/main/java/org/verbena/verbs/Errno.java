package org.verbena.verbs;

import java.util.Map;

/** An error number of Linux, with the name and text that the C library gives it. */
final class Errno extends Exception {
  private static final long serialVersionUID = 1;

  static final int EINTR = 4;
  static final int EAGAIN = 11;
  static final int ENOMEM = 12;
  static final int EACCES = 13;
  static final int ENODEV = 19;
  static final int EINVAL = 22;
  static final int EFAULT = 14;
  static final int ENOSYS = 38;
  static final int EOPNOTSUPP = 95;
  static final int ETIMEDOUT = 110;

  private static final Map<Integer, String> TEXT =
      Map.ofEntries(
          Map.entry(1, "EPERM (1, Operation not permitted)"),
          Map.entry(2, "ENOENT (2, No such file or directory)"),
          Map.entry(EINTR, "EINTR (4, Interrupted system call)"),
          Map.entry(5, "EIO (5, Input/output error)"),
          Map.entry(6, "ENXIO (6, No such device or address)"),
          Map.entry(9, "EBADF (9, Bad file descriptor)"),
          Map.entry(EAGAIN, "EAGAIN (11, Resource temporarily unavailable)"),
          Map.entry(ENOMEM, "ENOMEM (12, Cannot allocate memory)"),
          Map.entry(EACCES, "EACCES (13, Permission denied)"),
          Map.entry(EFAULT, "EFAULT (14, Bad address)"),
          Map.entry(16, "EBUSY (16, Device or resource busy)"),
          Map.entry(ENODEV, "ENODEV (19, No such device)"),
          Map.entry(EINVAL, "EINVAL (22, Invalid argument)"),
          Map.entry(24, "EMFILE (24, Too many open files)"),
          Map.entry(28, "ENOSPC (28, No space left on device)"),
          Map.entry(ENOSYS, "ENOSYS (38, Function not implemented)"),
          Map.entry(61, "ENODATA (61, No data available)"),
          Map.entry(71, "EPROTO (71, Protocol error)"),
          Map.entry(93, "EPROTONOSUPPORT (93, Protocol not supported)"),
          Map.entry(EOPNOTSUPP, "EOPNOTSUPP (95, Operation not supported)"),
          Map.entry(99, "EADDRNOTAVAIL (99, Cannot assign requested address)"),
          Map.entry(101, "ENETUNREACH (101, Network is unreachable)"),
          Map.entry(105, "ENOBUFS (105, No buffer space available)"),
          Map.entry(110, "ETIMEDOUT (110, Connection timed out)"),
          Map.entry(113, "EHOSTUNREACH (113, No route to host)"));

  private final int number;

  Errno(int number) {
    super(text(number), null, false, false);
    this.number = number;
  }

  int number() {
    return number;
  }

  static String text(int number) {
    return TEXT.getOrDefault(number, "errno " + number);
  }

  /**
   * The error of a call that returned {@code result}, or 0. Verbs return the number itself;
   * providers are known that return its negative, or -1 with {@code errno} set.
   */
  static int of(int result, int errno) {
    return result == -1 && errno != 0 ? errno : Math.abs(result);
  }
}
