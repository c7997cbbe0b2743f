package org.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A native object. Closing it closes those made from it first, queue pairs before the memory and
 * the completion queues they use. Control calls on all objects of a context take one lock.
 */
abstract sealed class Resource implements AutoCloseable
    permits Context,
        ProtectionDomain,
        MemoryRegion,
        AddressHandle,
        CompletionChannel,
        CompletionQueue,
        Postable {
  private enum Use {
    OPEN,
    /** Nobody begins a call, but somebody may be in one. */
    ENDING,
    /** Nobody is in a call. */
    ENDED,
    DESTROYED
  }

  private final Object lock;
  private final List<Resource> parents;
  private final Set<Resource> children = new LinkedHashSet<>();
  private volatile Use use = Use.OPEN;

  Resource(Resource... parents) {
    this.lock = parents.length == 0 ? new Object() : parents[0].lock;
    this.parents = List.of(parents);
  }

  /** To be called under the lock, once the native object exists. */
  final void attach() {
    parents.forEach(parent -> parent.children.add(this));
  }

  final Object lock() {
    return lock;
  }

  /** The native object. */
  abstract MemorySegment handle();

  /** What was made from this, or from what was, has the type and lies at {@code address}. */
  final <T extends Resource> Optional<T> find(Class<T> type, long address) {
    synchronized (lock) {
      for (Resource child : children) {
        if (type.isInstance(child) && child.handle().address() == address) {
          return Optional.of(type.cast(child));
        }
        Optional<T> below = child.find(type, address);
        if (below.isPresent()) {
          return below;
        }
      }
      return Optional.empty();
    }
  }

  /** The closing order among siblings, lowest first. */
  abstract int closingOrder();

  /**
   * Waits until no thread is in a call of the native object, and lets none get in; under the lock.
   *
   * @throws IllegalStateException if a thread does not come out
   */
  void quiesce() {}

  /** Destroys the native object; called once, under the lock. */
  abstract void destroy();

  /** Whether {@link #close()} was called, here or on what this was made from. */
  public final boolean isClosed() {
    return use != Use.OPEN;
  }

  final void requireOpen() {
    if (isClosed()) {
      throw closed();
    }
  }

  final IllegalStateException closed() {
    return new IllegalStateException(this + " is closed");
  }

  /**
   * Closes this and everything made from it. Does nothing the second time. The first failure is
   * thrown when all is done; those after it are suppressed in it.
   *
   * @throws IllegalStateException if a thread does not return from a call of the device. Nothing is
   *     destroyed then, and nothing can be used any more; closing may be tried again.
   */
  @Override
  public final void close() {
    synchronized (lock) {
      if (use != Use.DESTROYED) {
        endUse();
        destroyAll();
      }
    }
  }

  private void endUse() {
    if (use != Use.ENDED) {
      use = Use.ENDING;
      List<Runnable> steps = new ArrayList<>();
      children.forEach(child -> steps.add(child::endUse));
      steps.add(this::quiesce);
      runAll(steps);
      use = Use.ENDED;
    }
  }

  private void destroyAll() {
    List<Resource> order = new ArrayList<>(children);
    order.sort(Comparator.comparingInt(Resource::closingOrder));
    List<Runnable> steps = new ArrayList<>();
    order.forEach(child -> steps.add(child::destroyAll));
    steps.add(this::destroy);
    use = Use.DESTROYED;
    try {
      runAll(steps);
    } finally {
      parents.forEach(parent -> parent.children.remove(this));
    }
  }

  /** Shuts {@code gate}, behind which {@code verb} is called. */
  final void shut(Gate gate, String verb, Context context) {
    Duration limit = context.driver().callLimit();
    if (!gate.shut(limit)) {
      throw new IllegalStateException(
          "%s is in use: a thread has not returned from %s for %d ms; the device hangs"
              .formatted(this, verb, limit.toMillis()));
    }
  }

  static void runAll(List<Runnable> steps) {
    RuntimeException failure = null;
    for (Runnable step : steps) {
      try {
        step.run();
      } catch (RuntimeException e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
