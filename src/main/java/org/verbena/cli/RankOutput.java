package org.verbena.cli;

import java.io.Console;
import java.nio.charset.StandardCharsets;

/**
 * What the ranks of a job print: results go out as they are, what goes wrong carries its rank, and
 * progress is shown to terminals only.
 */
final class RankOutput implements RankProcesses.Output {
  /** Begins a line of standard error that tells progress. */
  static final String PROGRESS = "progress: ";

  private static final String ERASE_LINE = "\r\033[K";

  private final boolean terminal = isTerminal();
  private boolean progressShown;

  @SuppressWarnings("SystemConsoleNull") // It may be: jdk.console decides.
  private static boolean isTerminal() {
    Console console = System.console();
    return console != null && console.isTerminal();
  }

  @Override
  public synchronized void line(int rank, boolean error, byte[] line) {
    String text = new String(line, StandardCharsets.UTF_8);
    if (text.startsWith(PROGRESS)) {
      if (terminal) {
        System.err.print(ERASE_LINE + text.substring(PROGRESS.length()));
        progressShown = true;
      }
    } else if (!text.equals(JavaProcess.INCUBATOR_WARNING)) {
      clear();
      if (error) {
        System.err.println("[" + rank + "] " + text);
      } else {
        System.out.println(text);
      }
    }
  }

  /** Takes progress off the terminal. */
  synchronized void clear() {
    if (progressShown) {
      System.err.print(ERASE_LINE);
      progressShown = false;
    }
  }
}
