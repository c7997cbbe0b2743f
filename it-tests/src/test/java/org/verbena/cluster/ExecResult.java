package org.verbena.cluster;

/**
 * What a command in a node came to.
 *
 * @param command the command line, for messages
 * @param exitCode its exit code; {@link #TIMED_OUT} where the deadline ended it
 * @param stdout what it wrote to standard output
 * @param stderr what it wrote to standard error
 */
public record ExecResult(String command, long exitCode, String stdout, String stderr) {
  /** The exit code of {@code timeout(1)} for a command that it has ended. */
  public static final int TIMED_OUT = 124;

  /**
   * Returns this result of a successful command.
   *
   * @throws ClusterException if the exit code is not 0
   */
  public ExecResult orThrow() {
    if (exitCode != 0) {
      throw new ClusterException(
          "'%s' ended with %d%s\n%s%s"
              .formatted(
                  command,
                  exitCode,
                  exitCode == TIMED_OUT ? " (its deadline)" : "",
                  stdout,
                  stderr));
    }
    return this;
  }
}
