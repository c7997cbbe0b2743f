package org.verbena.cli;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code verbena run}: a command as a group of processes on this host. */
@Command(
    name = "run",
    customSynopsis = "verbena run [-hV] --ranks=R -- COMMAND...%n",
    mixinStandardHelpOptions = true,
    description = {
      "Starts a command once per rank, with the variables of a launcher set.",
      "Prefixes each line of output with the rank. Ends all ranks when one fails, and exits with"
          + " its code (128 and the signal's number if one ended it)."
    })
final class RunCommand implements Callable<Integer> {
  @Option(
      names = "--ranks",
      required = true,
      paramLabel = "R",
      description = "How many processes to start.")
  private int ranks;

  @Parameters(
      arity = "1..*",
      paramLabel = "COMMAND",
      description = "The command and its arguments, after --.")
  private List<String> command;

  @Spec private CommandSpec spec;

  @Override
  public Integer call() throws IOException, InterruptedException {
    if (ranks < 1) {
      throw new ParameterException(
          spec.commandLine(), "--ranks is " + ranks + ", but a group has at least one rank.");
    }
    RankProcesses processes = RankProcesses.start(ranks, command, RunCommand::print);
    RankProcesses.End end = processes.await();
    if (end.code() != 0) {
      System.err.println("verbena: rank " + end.rank() + " ended with exit code " + end.code());
    }
    return end.code();
  }

  /** Writes prefix and line at once, so that lines of two ranks never mix. */
  private static void print(int rank, boolean error, byte[] line) {
    byte[] prefix = ("[" + rank + "] ").getBytes(StandardCharsets.US_ASCII);
    byte[] whole = new byte[prefix.length + line.length + 1];
    System.arraycopy(prefix, 0, whole, 0, prefix.length);
    System.arraycopy(line, 0, whole, prefix.length, line.length);
    whole[whole.length - 1] = '\n';
    PrintStream stream = error ? System.err : System.out;
    stream.write(whole, 0, whole.length);
    stream.flush();
  }
}
