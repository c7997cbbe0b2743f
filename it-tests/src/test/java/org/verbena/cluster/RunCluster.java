package org.verbena.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Comparator;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * The cluster that lives as long as a run of tests: on the configured engine if a node comes up
 * there, and otherwise in a guest of its own.
 */
final class RunCluster implements AutoCloseable {
  private final Cluster cluster;
  private final @Nullable Guest guest;
  private final AtomicBoolean closed = new AtomicBoolean();
  private final Duration engineTime;
  private Duration nodesTime = Duration.ZERO;

  private RunCluster(Cluster cluster, @Nullable Guest guest, Instant begin) {
    this.cluster = cluster;
    this.guest = guest;
    this.engineTime = Duration.between(begin, Instant.now());
    // Ctrl-C; a killed process needs no hook, see Guest.run and Cluster.sweep.
    Runtime.getRuntime().addShutdownHook(new Thread(this::close, "cluster-close"));
  }

  static RunCluster start() {
    Instant begin = Instant.now();
    Build build = Build.current();
    String id = "test-" + ProcessHandle.current().pid();
    Path logs = emptied(build.logs());
    try {
      Cluster cluster = onConfiguredEngine(build, id, logs);
      say(cluster);
      return new RunCluster(cluster, null, begin);
    } catch (ClusterException e) {
      System.err.println("cluster: takes a guest, as " + e.getMessage());
    }
    try {
      return inGuest(build, id, logs, begin);
    } catch (ClusterException e) {
      System.err.println("cluster: takes another guest, as " + e.getMessage());
      return inGuest(build, id, logs, begin);
    }
  }

  private static RunCluster inGuest(Build build, String id, Path logs, Instant begin) {
    Guest guest = Guest.run(build, id, logs.resolve("guest-console.log"));
    Engine engine = Engine.ofGuest(guest.line());
    Cluster cluster = new Cluster(engine, id, Owner.thisProcess(), build, logs);
    say(cluster);
    try {
      growByOne(cluster);
      return new RunCluster(cluster, guest, begin);
    } catch (ClusterException e) {
      guest.close();
      throw e;
    }
  }

  Cluster cluster() {
    return cluster;
  }

  /** Adds nodes until there are {@code size} of them. */
  void grow(int size) {
    Instant begin = Instant.now();
    cluster.grow(size);
    nodesTime = nodesTime.plus(Duration.between(begin, Instant.now()));
  }

  @Override
  public void close() {
    if (closed.getAndSet(true)) {
      return;
    }
    Instant begin = Instant.now();
    takeDown();
    Duration removalTime = Duration.between(begin, Instant.now());
    System.err.println(
        "cluster: took %d s of this run: engine %d, nodes %d, removal %d"
            .formatted(
                engineTime.plus(nodesTime).plus(removalTime).toSeconds(),
                engineTime.toSeconds(),
                nodesTime.toSeconds(),
                removalTime.toSeconds()));
  }

  private void takeDown() {
    if (guest == null) {
      cluster.remove();
    } else {
      cluster.close();
      guest.close();
    }
  }

  private static Cluster onConfiguredEngine(Build build, String id, Path logs) {
    Engine engine = Engine.configured(build);
    Cluster.sweep(engine.client());
    Cluster cluster = new Cluster(engine, id, Owner.thisProcess(), build, logs);
    try {
      growByOne(cluster);
      return cluster;
    } catch (ClusterException e) {
      cluster.remove();
      throw e;
    }
  }

  /** An engine is good for nothing unless a node comes up on it. */
  private static void growByOne(Cluster cluster) {
    try {
      cluster.grow(1);
    } catch (RuntimeException e) { // of many kinds where the engine dies
      throw new ClusterException(
          "no node comes up on the engine at %s: %s"
              .formatted(cluster.engine().address(), e.getMessage()),
          e);
    }
  }

  private static void say(Cluster cluster) {
    System.err.println(
        "cluster: on the engine at %s: %s"
            .formatted(cluster.engine().address(), cluster.engine().why()));
  }

  private static Path emptied(Path folder) {
    try {
      if (Files.exists(folder)) {
        try (var paths = Files.walk(folder)) {
          for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
            Files.delete(path);
          }
        }
      }
      return Files.createDirectories(folder);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
