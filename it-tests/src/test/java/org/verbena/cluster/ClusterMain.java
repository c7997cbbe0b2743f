package org.verbena.cluster;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.async.ResultCallback;
import com.github.dockerjava.api.model.Frame;
import com.github.dockerjava.api.model.StreamType;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.verbena.cli.NodeRanks;

/**
 * What {@code verbena cluster} runs: the cluster of the tests, for people. It stays until it is
 * taken down; there is one per checkout.
 */
final class ClusterMain {
  private final Build build = Build.current();
  private final String id =
      "people-%08x".formatted(build.home().toAbsolutePath().toString().hashCode());
  private final Path logs = build.home().resolve("target/cluster");

  private ClusterMain() {}

  public static void main(String[] args) {
    ClusterMain main = new ClusterMain();
    int exitCode = 0;
    try {
      switch (args[0]) {
        case "up" -> main.up(Integer.parseInt(args[1]));
        case "status" -> main.status();
        case "exec" -> exitCode = main.exec(args[1], Arrays.copyOfRange(args, 2, args.length));
        case "run" -> exitCode = main.run(args);
        case "logs" -> main.logs();
        case "down" -> main.down();
        default -> throw new IllegalArgumentException(args[0]);
      }
    } catch (ClusterException e) {
      System.err.println("cluster: " + e.getMessage());
      exitCode = 1;
    }
    // Threads of the Docker client would keep the process.
    System.exit(exitCode);
  }

  private void up(int size) {
    long start = System.nanoTime();
    print(broughtUp(size));
    System.out.printf("Ready after %d s.%n", (System.nanoTime() - start) / 1_000_000_000);
  }

  private Cluster broughtUp(int size) {
    Cluster cluster = find().orElse(null);
    if (cluster == null) {
      cluster = create();
    } else {
      cluster.refresh();
    }
    cluster.grow(size);
    return cluster;
  }

  /**
   * Runs a command of this build as ranks. After its name: how many nodes and ranks, how many nodes
   * get a copy of the files, how many files and which, and the line of the command.
   */
  private int run(String... args) {
    if (find().isEmpty()) {
      // However this process ends: a cluster that was brought up for the command goes with it.
      Runtime.getRuntime().addShutdownHook(new Thread(this::remove, "end of the cluster"));
      System.err.println("cluster: comes up for this command, and goes down after it ...");
    }
    int size = Integer.parseInt(args[1]);
    List<Node> nodes = broughtUp(size).nodes().subList(0, size);
    int command = 5 + Integer.parseInt(args[4]);
    List<Path> files = Stream.of(args).limit(command).skip(5).map(Path::of).toList();
    try {
      return NodeRanks.run(
          nodes,
          Integer.parseInt(args[2]),
          Integer.parseInt(args[3]),
          files,
          List.of(args).subList(command, args.length));
    } catch (IOException e) {
      throw new ClusterException("run: " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("run: interrupted", e);
    }
  }

  private void remove() {
    find().ifPresent(Cluster::remove);
    Guest.stop(build, id);
  }

  private void status() {
    find().ifPresentOrElse(ClusterMain::print, () -> System.out.println("No cluster is up."));
  }

  private int exec(String name, String... command) {
    Cluster cluster = running();
    Node node =
        cluster.nodes().stream()
            .filter(candidate -> candidate.name().equals(name))
            .findFirst()
            .orElseThrow(
                () ->
                    new ClusterException(
                        "There is no %s: the nodes are node1 to node%d"
                            .formatted(name, cluster.nodes().size())));
    return attach(cluster.engine().client(), node.container(), command);
  }

  private void logs() {
    Cluster cluster = running();
    cluster.keepLogs(logs);
    System.out.println("The messages of nodes and kernel are in " + logs);
  }

  private void down() {
    Optional<Cluster> cluster = find();
    cluster.ifPresent(Cluster::remove);
    Guest.stop(build, id);
    System.out.println(cluster.isPresent() ? "The cluster is down." : "No cluster is up.");
  }

  private Cluster running() {
    return find().orElseThrow(() -> new ClusterException("No cluster is up: verbena cluster up"));
  }

  /** The guest first: it would not be there if the configured engine had served. */
  private Optional<Cluster> find() {
    Optional<Guest.Line> guest = Guest.probe(build, id);
    if (guest.isPresent()) {
      return Optional.of(cluster(Engine.ofGuest(guest.get())));
    }
    return Engine.running().map(this::cluster).filter(found -> !found.nodes().isEmpty());
  }

  private Cluster create() {
    try {
      Cluster cluster = cluster(Engine.configured(build));
      cluster.grow(1);
      return cluster;
    } catch (ClusterException e) {
      System.err.println("cluster: takes a guest, as " + e.getMessage());
      return cluster(Engine.ofGuest(Guest.start(build, id)));
    }
  }

  private Cluster cluster(Engine engine) {
    return new Cluster(engine, id, Owner.NOBODY, build, logs);
  }

  private static void print(Cluster cluster) {
    System.out.printf("engine  %s%n", cluster.engine().address());
    System.out.printf("        %s%n", cluster.engine().why());
    System.out.printf(
        "%-6s  %-15s  %-28s  %-4s  %-5s  %s%n",
        "node", "address", "device", "port", "index", "GID");
    for (Node node : cluster.nodes()) {
      RdmaDevice device = node.device();
      System.out.printf(
          "%-6s  %-15s  %-28s  %-4d  %-5d  %s%n",
          node.name(),
          device.address(),
          device.name(),
          device.port(),
          device.gidIndex(),
          device.gid());
    }
    System.out.println(
        "Each device is the rxe device of its node's eth0, each GID the RoCE v2 GID of its"
            + " address.");
  }

  /** Runs a command with this process's standard input and outputs. */
  private static int attach(DockerClient client, String container, String... command) {
    String exec =
        client
            .execCreateCmd(container)
            .withAttachStdin(true)
            .withAttachStdout(true)
            .withAttachStderr(true)
            .withCmd(command)
            .exec()
            .getId();
    try (Printing output = new Printing()) {
      client.execStartCmd(exec).withStdIn(System.in).exec(output).awaitCompletion();
      return Math.toIntExact(client.inspectExecCmd(exec).exec().getExitCodeLong());
    } catch (IOException e) {
      throw new ClusterException("exec: " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("exec: interrupted", e);
    }
  }

  /** Prints what a command writes, as it comes. */
  private static final class Printing extends ResultCallback.Adapter<Frame> {
    @Override
    public void onNext(Frame frame) {
      PrintStream stream = frame.getStreamType() == StreamType.STDERR ? System.err : System.out;
      stream.writeBytes(frame.getPayload());
      stream.flush();
    }
  }
}
