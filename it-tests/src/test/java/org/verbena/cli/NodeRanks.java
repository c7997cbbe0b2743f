package org.verbena.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.verbena.bootstrap.Membership;
import org.verbena.bootstrap.Rendezvous;
import org.verbena.bootstrap.Secret;
import org.verbena.cluster.ClusterException;
import org.verbena.cluster.Node;

/** The ranks of a group on nodes of a cluster: what {@link RankProcesses} is on one host. */
public final class NodeRanks implements AutoCloseable {
  /** How long ranks may take to tell what they know of one that failed; nodes may be slow. */
  private static final Duration LAST_WORDS = Duration.ofSeconds(30);

  private static final int PORT = 29501;

  /** Leaves the process's id where it can be killed by it, then becomes the command. */
  private static final String REMEMBERED = "echo $$ >\"$0\"; exec \"$@\"";

  private final String job = UUID.randomUUID().toString();
  private final List<Node> nodeOfRank = new ArrayList<>();
  private final Set<Integer> running = ConcurrentHashMap.newKeySet();
  private final BlockingQueue<RankProcesses.End> ends = new LinkedBlockingQueue<>();

  private NodeRanks() {}

  /**
   * Runs a command of this build as the ranks of a group, prints what they print and returns the
   * exit code.
   *
   * @param copies how many nodes get a copy of the files
   * @param files what ranks have written into a folder among them is copied back
   */
  public static int run(
      List<Node> nodes, int ranks, int copies, List<Path> files, List<String> command)
      throws IOException, InterruptedException {
    files.forEach(file -> nodes.subList(0, copies).forEach(node -> node.put(file)));
    RankOutput output = new RankOutput();
    RankProcesses.End end;
    try (NodeRanks all = start(nodes, ranks, command, output)) {
      Runtime.getRuntime().addShutdownHook(new Thread(all::close, "end of the ranks"));
      end = all.await(LAST_WORDS);
      output.clear();
      if (end.code() == ExitCode.OK) {
        for (Path folder : files) {
          all.collect(folder);
        }
      }
    }
    return RankJob.exitCode(end);
  }

  /** Starts a command of this build once per rank; the first nodes have one more if need be. */
  static NodeRanks start(
      List<Node> nodes, int ranks, List<String> command, RankProcesses.Output output) {
    NodeRanks all = new NodeRanks();
    Secret secret = Secret.random();
    int each = ranks / nodes.size();
    int more = ranks % nodes.size();
    for (int i = 0; i < nodes.size(); i++) {
      int here = each + (i < more ? 1 : 0);
      for (int local = 0; local < here; local++) {
        int rank = all.nodeOfRank.size();
        Membership membership =
            new Membership(
                rank,
                ranks,
                OptionalInt.of(local),
                OptionalInt.of(here),
                all.job,
                new Rendezvous.At(nodes.getFirst().name(), PORT));
        all.start(nodes.get(i), membership.withSecret(secret), command, output);
      }
    }
    return all;
  }

  private void start(
      Node node, Membership membership, List<String> command, RankProcesses.Output output) {
    int rank = membership.rank();
    Map<String, String> environment = new HashMap<>(membership.toEnvironment());
    if (node.isEmulated()) {
      // Under software emulation freshly patched code has crashed the default tiers. The first one
      // alone knows no vectors: with them, a sum of rows takes thousands of calls.
      environment.put("VERBENA_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -Dverbena.vector=false");
    }
    List<String> line =
        new ArrayList<>(List.of("sh", "-c", REMEMBERED, processFile(rank), "/opt/verbena/verbena"));
    line.addAll(command);
    Lines printed = new Lines(bytes -> output.line(rank, false, bytes));
    Lines errors = new Lines(bytes -> output.line(rank, true, bytes));
    nodeOfRank.add(node);
    running.add(rank);
    var _ =
        node.start(
                environment,
                (error, bytes) -> (error ? errors : printed).add(bytes),
                line.toArray(String[]::new))
            .thenAccept(
                code -> {
                  printed.end();
                  errors.end();
                  running.remove(rank);
                  ends.add(new RankProcesses.End(rank, code));
                });
  }

  private String processFile(int rank) {
    return "/run/verbena-" + job + "." + rank;
  }

  /** Sends a signal to a rank. */
  void signal(int rank, String name) {
    nodeOfRank.get(rank).exec("sh", "-c", "kill -" + name + " $(cat " + processFile(rank) + ")");
  }

  /** As {@link RankProcesses#await(Duration)}. */
  RankProcesses.End await(Duration patience) throws InterruptedException {
    RankProcesses.End end = ends.take();
    int ended = 1;
    while (end.code() == ExitCode.OK && ended < nodeOfRank.size()) {
      end = ends.take();
      ended++;
    }
    long deadline = System.nanoTime() + patience.toNanos();
    while (ended < nodeOfRank.size()
        && ends.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS) != null) {
      ended++;
    }
    return end;
  }

  /** Copies back what each rank has written into a folder. */
  private void collect(Path folder) throws IOException {
    if (!Files.isDirectory(folder)) {
      return;
    }
    for (int rank = 0; rank < nodeOfRank.size(); rank++) {
      Node node = nodeOfRank.get(rank);
      for (String kind : List.of("out", "counts")) {
        node.get(Capture.file(folder, rank, kind));
      }
    }
  }

  /** Kills the ranks that still run. */
  @Override
  public void close() {
    for (int rank : running) {
      try {
        signal(rank, "KILL");
      } catch (ClusterException _) {
        // the node is gone, and the rank with it
      }
    }
  }
}
