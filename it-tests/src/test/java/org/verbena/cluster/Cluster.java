package org.verbena.cluster;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.exception.DockerException;
import com.github.dockerjava.api.exception.NotFoundException;
import com.github.dockerjava.api.model.Bind;
import com.github.dockerjava.api.model.Container;
import com.github.dockerjava.api.model.HostConfig;
import com.github.dockerjava.api.model.Network;
import com.github.dockerjava.api.model.Ulimit;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Hosts {@code node1}, {@code node2}, ... with RDMA, on one network where they resolve each other
 * by name.
 *
 * <p>The nodes are made with the Docker client of Testcontainers and not as its containers: nodes
 * of {@code verbena cluster up} outlive the process that made them, and a killed node comes back.
 */
public final class Cluster {
  private static final String ID = "org.verbena.cluster";
  private static final String OWNER = "org.verbena.owner";
  private static final String NODE = "org.verbena.node";
  private static final long SHARED_MEMORY = 1L << 30;

  private final Engine engine;
  private final DockerClient client;
  private final String id;
  private final String owner;
  private final Build build;
  private final Path logs;
  private final List<Node> nodes = new ArrayList<>();
  private double kernelTime = -1;

  /**
   * Finds the nodes that the engine has under an id.
   *
   * @param owner whose end is the end of this cluster, see {@link Owner}
   */
  Cluster(Engine engine, String id, String owner, Build build, Path logs) {
    this.engine = engine;
    this.client = engine.client();
    this.id = id;
    this.owner = owner;
    this.build = build;
    this.logs = logs;
    try {
      Files.createDirectories(logs);
    } catch (IOException e) {
      throw new ClusterException("No folder for logs at " + logs, e);
    }
    containers(client, Map.of(ID, id)).stream()
        .sorted(Comparator.comparingInt(Cluster::number))
        .forEach(found -> nodes.add(node(number(found), found.getId())));
  }

  /** All nodes, at least as many as the test asked for. */
  public List<Node> nodes() {
    return List.copyOf(nodes);
  }

  /** Returns a node by its number, from 1. */
  public Node node(int number) {
    if (number < 1 || number > nodes.size()) {
      throw new IllegalArgumentException(
          "There is no node " + number + ", the cluster has " + nodes.size());
    }
    return nodes.get(number - 1);
  }

  Engine engine() {
    return engine;
  }

  /** Adds nodes until there are {@code size} of them, and waits until all can be used. */
  void grow(int size) {
    int before = nodes.size();
    for (int number = before + 1; number <= size; number++) {
      nodes.add(node(number, create(number)));
    }
    List<Node> added = nodes.subList(before, nodes.size());
    CompletableFuture.allOf(
            added.stream()
                .map(node -> CompletableFuture.runAsync(node::device))
                .toArray(CompletableFuture<?>[]::new))
        .join();
    added.forEach(node -> node.upload(build));
    if (kernelTime < 0 && !nodes.isEmpty()) {
      kernelTime = KernelLog.lastTime(dmesg());
    }
  }

  /** Puts this build in nodes that were there before it. */
  void refresh() {
    nodes.forEach(node -> node.upload(build));
  }

  void heal() {
    nodes.forEach(Node::heal);
  }

  /**
   * Looks at what the kernel has said since the last time.
   *
   * @throws AssertionError if a warning, a lock-up or an error of rxe is among it
   */
  void checkKernel() {
    if (nodes.isEmpty()) {
      return;
    }
    String dmesg = dmesg();
    List<String> faults = KernelLog.faults(dmesg, kernelTime);
    kernelTime = KernelLog.lastTime(dmesg);
    if (!faults.isEmpty()) {
      throw new AssertionError("The kernel of the nodes complains:\n" + String.join("\n", faults));
    }
  }

  String dmesg() {
    return node(1).exec("dmesg").orThrow().stdout();
  }

  /** Writes the messages of all nodes and of the kernel into a folder. */
  void keepLogs(Path folder) {
    try {
      Files.createDirectories(folder);
      nodes.forEach(node -> node.keepLogs(folder));
      Files.writeString(folder.resolve("dmesg.log"), dmesg());
    } catch (IOException | ClusterException e) {
      System.err.println("cluster: the logs are not complete: " + e.getMessage());
    }
  }

  /** Lets go of the nodes, which stay. */
  void close() {
    nodes.forEach(Node::close);
  }

  /** Removes the nodes and their network. */
  void remove() {
    close();
    nodes.clear();
    remove(client, Map.of(ID, id));
  }

  /** Removes what dead owners have left in an engine. */
  static void sweep(DockerClient client) {
    for (Container container : containers(client, Map.of())) {
      String left = container.getLabels().get(OWNER);
      if (left != null && Owner.isDead(left)) {
        remove(client, Map.of(ID, container.getLabels().getOrDefault(ID, "")));
      }
    }
    for (Network network : networks(client, Map.of())) {
      String left = network.getLabels().get(OWNER);
      if (left != null && Owner.isDead(left)) {
        client.removeNetworkCmd(network.getId()).exec();
      }
    }
  }

  private static void remove(DockerClient client, Map<String, String> labels) {
    for (Container container : containers(client, labels)) {
      try {
        client.removeContainerCmd(container.getId()).withForce(true).withRemoveVolumes(true).exec();
      } catch (NotFoundException _) {
        // Somebody else was faster.
      }
    }
    for (Network network : networks(client, labels)) {
      client.removeNetworkCmd(network.getId()).exec();
    }
  }

  private static List<Container> containers(DockerClient client, Map<String, String> labels) {
    return client
        .listContainersCmd()
        .withShowAll(true)
        .withLabelFilter(labels.isEmpty() ? Map.of() : labels)
        .exec()
        .stream()
        .filter(container -> container.getLabels().containsKey(ID))
        .toList();
  }

  private static List<Network> networks(DockerClient client, Map<String, String> labels) {
    return client.listNetworksCmd().exec().stream()
        .filter(network -> network.getLabels() != null && network.getLabels().containsKey(ID))
        .filter(network -> network.getLabels().entrySet().containsAll(labels.entrySet()))
        .toList();
  }

  private static int number(Container container) {
    return Integer.parseInt(container.getLabels().get(NODE));
  }

  private Node node(int number, String container) {
    return new Node(client, "node" + number, container, logs);
  }

  private String network() {
    Map<String, String> labels = Map.of(ID, id, OWNER, owner);
    List<Network> found = networks(client, Map.of(ID, id));
    return found.isEmpty()
        ? client.createNetworkCmd().withName("verbena-" + id).withLabels(labels).exec().getId()
        : found.getFirst().getId();
  }

  private String create(int number) {
    String name = "node" + number;
    try {
      String container =
          client
              .createContainerCmd(engine.image())
              .withName("verbena-" + id + "-" + name)
              .withHostName(name)
              .withAliases(name)
              .withCmd("/usr/local/sbin/rxe-node")
              .withEnv("RXE_SUFFIX=" + id.replace('-', '_'))
              .withLabels(Map.of(ID, id, OWNER, owner, NODE, String.valueOf(number)))
              .withHostConfig(
                  HostConfig.newHostConfig()
                      .withNetworkMode(network())
                      .withPrivileged(true)
                      .withShmSize(SHARED_MEMORY)
                      .withUlimits(List.of(new Ulimit("memlock", -1L, -1L)))
                      // The device files of rxe appear only after the node has made its device.
                      .withBinds(Bind.parse("/dev/infiniband:/dev/infiniband"))
                      .withTmpFs(Map.of("/run", "rw,mode=755")))
              .exec()
              .getId();
      client.startContainerCmd(container).exec();
      return container;
    } catch (DockerException e) {
      throw new ClusterException(name + " cannot be started: " + e.getMessage(), e);
    }
  }
}
