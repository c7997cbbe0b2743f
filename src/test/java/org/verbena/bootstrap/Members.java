package org.verbena.bootstrap;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.IntFunction;

/** Runs what each rank does on a thread of its own. */
final class Members {
  private Members() {}

  /** What came of a rank: its result, or the exception that it met. */
  record Outcome<T>(List<T> results, List<Throwable> failures) {
    T result() {
      if (results.isEmpty()) {
        throw new AssertionError("the rank failed", failures.getFirst());
      }
      return results.getFirst();
    }

    Throwable failure() {
      if (failures.isEmpty()) {
        throw new AssertionError("the rank did not fail but gave " + results.getFirst());
      }
      return failures.getFirst();
    }
  }

  /** Runs the actions of ranks 0 to size - 1 at the same time; the outcomes are in rank order. */
  static <T> List<Outcome<T>> run(int size, IntFunction<Callable<T>> action) throws Exception {
    try (ExecutorService threads = Executors.newCachedThreadPool()) {
      List<Future<T>> futures = new ArrayList<>();
      for (int rank = 0; rank < size; rank++) {
        futures.add(threads.submit(action.apply(rank)));
      }
      List<Outcome<T>> outcomes = new ArrayList<>();
      for (Future<T> future : futures) {
        try {
          outcomes.add(new Outcome<>(List.of(future.get(60, TimeUnit.SECONDS)), List.of()));
        } catch (ExecutionException e) {
          outcomes.add(new Outcome<>(List.of(), List.of(e.getCause())));
        } catch (TimeoutException e) {
          threads.shutdownNow();
          throw e;
        }
      }
      return outcomes;
    }
  }
}
