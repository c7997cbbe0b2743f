package org.verbena.cli;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** Whether the ranks of a command run on this host, or on the nodes of the soft-RoCE cluster. */
final class ClusterOptions {
  @Option(
      names = "--cluster",
      description =
          "Run the ranks on the nodes of the soft-RoCE cluster, which is brought up for it if it is"
              + " not up (verbena cluster up).")
  private boolean cluster;

  @Option(
      names = "--nodes",
      defaultValue = "3",
      paramLabel = "N",
      description = "How many nodes of the cluster to use (default: ${DEFAULT-VALUE}).")
  private int nodes;

  /** Whether the ranks run on the nodes of the cluster. */
  boolean isChosen() {
    return cluster;
  }

  /** How many ranks there are unless told: so many on this host, or one on each node. */
  int ranks(int here) {
    return cluster ? nodes : here;
  }

  /** On how many hosts these ranks are. */
  int hosts(int ranks) {
    return cluster ? Math.min(nodes, ranks) : 1;
  }

  /** How long to wait for a rank unless told: nodes may be emulated, and start Java slowly. */
  int patienceSeconds() {
    return cluster ? 120 : 30;
  }

  /**
   * Starts a command of this build once per rank, and waits for all.
   *
   * @param files folders that the command reads and writes; each node gets a copy of them
   */
  int start(CommandSpec spec, int ranks, List<String> arguments, String... files)
      throws IOException, InterruptedException {
    return start(spec, ranks, arguments, hosts(ranks), List.of(files));
  }

  /**
   * Starts a command of this build once per rank, and waits for all.
   *
   * @param copies how many nodes, from that of rank 0 on, get a copy of the files
   */
  int start(CommandSpec spec, int ranks, List<String> arguments, int copies, List<String> files)
      throws IOException, InterruptedException {
    if (!cluster) {
      return RankJob.start(ranks, arguments);
    }
    if (nodes < 1) {
      throw new ParameterException(spec.commandLine(), "--nodes is " + nodes + ", give 1 or more.");
    }
    List<String> words = new ArrayList<>(List.of("run", "" + hosts(ranks), "" + ranks));
    words.add("" + copies);
    words.add("" + files.size());
    words.addAll(files);
    words.addAll(arguments);
    return ClusterProcess.run(spec, words);
  }
}
