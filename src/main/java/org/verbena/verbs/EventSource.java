package org.verbena.verbs;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A descriptor that becomes readable when a resource has an event. Threads may wait for it while
 * another closes the resource.
 */
final class EventSource {
  /** How long a wait may keep a closing or interrupting thread waiting. */
  private static final int SLICE_MILLIS = 50;

  /** Takes an event that is there. */
  interface Taker<T> {
    T take() throws Errno;
  }

  private final Resource resource;
  private final Driver driver;
  private final int descriptor;
  private final ReentrantLock waiting = new ReentrantLock();

  EventSource(Resource resource, Driver driver, int descriptor) {
    this.resource = resource;
    this.driver = driver;
    this.descriptor = descriptor;
  }

  /**
   * Waits for an event and takes it; null if none comes within {@code timeout}. It is taken under
   * the lock of the context, after a second look: a kernel drops the events of what is destroyed,
   * and reading one that is gone would block.
   */
  <T> @Nullable T await(Duration timeout, Taker<T> taker) throws Errno, InterruptedException {
    long deadline = System.nanoTime() + timeout.toNanos();
    while (true) {
      if (Thread.interrupted()) {
        throw new InterruptedException("waiting for an event of " + resource);
      }
      long left = Math.max(0, deadline - System.nanoTime()) / 1_000_000;
      if (isReadable((int) Math.min(left, SLICE_MILLIS))) {
        synchronized (resource.lock()) {
          resource.requireOpen();
          if (driver.isReadable(descriptor, 0)) {
            return taker.take();
          }
        }
      }
      if (left == 0) {
        return null;
      }
    }
  }

  private boolean isReadable(int millis) throws Errno {
    waiting.lock();
    try {
      resource.requireOpen();
      return driver.isReadable(descriptor, millis);
    } finally {
      waiting.unlock();
    }
  }

  /** Closes the descriptor by {@code close} when nobody waits on it. */
  void close(Runnable close) {
    waiting.lock();
    try {
      close.run();
    } finally {
      waiting.unlock();
    }
  }
}
