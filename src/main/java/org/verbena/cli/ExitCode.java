package org.verbena.cli;

/** Exit codes of every command. */
final class ExitCode {
  /** All went well and all that was verified is right. */
  static final int OK = 0;

  /** The command ran and failed: a wrong value, a lost rank, a full disk. */
  static final int FAILED = 1;

  /** The command line or an input file is wrong; nothing was done. */
  static final int USAGE = 2;

  private ExitCode() {}
}
