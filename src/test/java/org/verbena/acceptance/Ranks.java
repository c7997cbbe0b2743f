package org.verbena.acceptance;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.verbena.bootstrap.Group;
import org.verbena.bootstrap.LocalGroup;

/** Runs the ranks of a group as threads of this process. */
public final class Ranks {
  /** No test's ranks take longer; a hang fails here instead of hanging the build. */
  private static final Duration LIMIT = Duration.ofMinutes(2);

  private Ranks() {}

  /** What one rank does. */
  @FunctionalInterface
  public interface Part {
    void run(Group group) throws Exception;
  }

  /** Runs a part on each rank; throws the first failure, with the others suppressed. */
  public static void run(int ranks, Part part) throws Exception {
    List<LocalGroup> groups = LocalGroup.of(ranks);
    ExecutorService threads = Executors.newFixedThreadPool(ranks);
    try {
      List<Future<?>> running = new ArrayList<>();
      for (LocalGroup group : groups) {
        running.add(
            threads.submit(
                () -> {
                  try (group) {
                    part.run(group);
                  }
                  return null;
                }));
      }
      await(running);
    } finally {
      threads.shutdownNow();
    }
  }

  private static void await(List<Future<?>> running) throws Exception {
    long deadline = System.nanoTime() + LIMIT.toNanos();
    Exception first = null;
    for (Future<?> rank : running) {
      try {
        rank.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
      } catch (ExecutionException | TimeoutException e) {
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
  }
}
