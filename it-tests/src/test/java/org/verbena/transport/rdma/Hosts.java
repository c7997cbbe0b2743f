package org.verbena.transport.rdma;

import java.io.PrintWriter;
import java.io.Serializable;
import java.io.StringWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;
import org.verbena.bootstrap.Group;
import org.verbena.bootstrap.Membership;
import org.verbena.bootstrap.Rendezvous;
import org.verbena.bootstrap.Secret;
import org.verbena.bootstrap.TcpGroup;
import org.verbena.cluster.Cluster;

/** Runs the ranks of a group in the Java processes of several nodes. */
final class Hosts {
  private static final Duration PATIENCE = Duration.ofSeconds(90);
  private static final Duration LIMIT = Duration.ofMinutes(4);
  private static final String SECRET = UUID.randomUUID().toString();
  private static final AtomicInteger NEXT_PORT = new AtomicInteger(21_000);

  /** What one rank does. */
  @FunctionalInterface
  interface Part<R> extends Serializable {
    R run(Group group) throws Exception;
  }

  private final Cluster cluster;
  private final int nodes;
  private final int ranksPerNode;

  Hosts(Cluster cluster, int nodes, int ranksPerNode) {
    this.cluster = cluster;
    this.nodes = nodes;
    this.ranksPerNode = ranksPerNode;
  }

  int ranks() {
    return nodes * ranksPerNode;
  }

  /** Starts a part on all ranks; what comes back is in order of the nodes. */
  <R> List<CompletableFuture<List<R>>> start(Part<R> part) {
    int port = NEXT_PORT.getAndIncrement();
    int size = ranks();
    int each = ranksPerNode;
    String secret = SECRET;
    List<CompletableFuture<List<R>>> running = new ArrayList<>();
    for (int node = 0; node < nodes; node++) {
      int first = node * each;
      running.add(
          cluster.node(node + 1).submit(() -> runNode(first, each, size, port, secret, part)));
    }
    return running;
  }

  /** Runs a part on all ranks; the results are in rank order. */
  <R> List<R> run(Part<R> part) throws Exception {
    List<R> results = new ArrayList<>();
    Exception first = null;
    for (CompletableFuture<List<R>> node : start(part)) {
      try {
        results.addAll(node.get(LIMIT.toSeconds(), TimeUnit.SECONDS));
      } catch (ExecutionException e) {
        if (first == null) {
          first = e;
        } else {
          first.addSuppressed(e);
        }
      }
    }
    if (first != null) {
      throw first;
    }
    return results;
  }

  private static <R> List<R> runNode(
      int first, int count, int size, int port, String secret, Part<R> part) throws Exception {
    Secret proof = Secret.fromEnvironment(Map.of(Secret.VARIABLE, secret)).orElseThrow();
    ExecutorService threads = Executors.newFixedThreadPool(count);
    try {
      List<Future<R>> running = new ArrayList<>();
      for (int rank = first; rank < first + count; rank++) {
        Membership membership =
            Membership.of(rank, size, new Rendezvous.At("node1", port)).withSecret(proof);
        running.add(
            threads.submit(
                () -> {
                  try (Group group = TcpGroup.join(membership, PATIENCE)) {
                    return part.run(group);
                  }
                }));
      }
      List<R> results = new ArrayList<>();
      for (Future<R> rank : running) {
        results.add(rank.get());
      }
      return results;
    } finally {
      threads.shutdownNow();
    }
  }

  /** Runs the tests of a class in this process; returns how many passed, and throws if not all. */
  static long runTests(Class<?> tests) {
    SummaryGeneratingListener listener = new SummaryGeneratingListener();
    LauncherFactory.create()
        .execute(
            LauncherDiscoveryRequestBuilder.request()
                .selectors(DiscoverySelectors.selectClass(tests))
                .build(),
            listener);
    TestExecutionSummary summary = listener.getSummary();
    if (summary.getTotalFailureCount() > 0 || summary.getTestsSkippedCount() > 0) {
      StringWriter text = new StringWriter();
      summary.printFailuresTo(new PrintWriter(text), 10);
      throw new AssertionError(tests.getName() + ": " + text);
    }
    return summary.getTestsSucceededCount();
  }
}
