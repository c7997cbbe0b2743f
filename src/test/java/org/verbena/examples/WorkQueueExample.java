package org.verbena.examples;

import java.util.function.LongConsumer;
import org.verbena.bootstrap.Group;
import org.verbena.collective.Collective;
import org.verbena.collective.CollectiveConfig;
import org.verbena.transport.shm.ShmTransport;

/** A queue of numbered items: whoever is free takes the next one, and no item is taken twice. */
public final class WorkQueueExample {
  private WorkQueueExample() {}

  public static void run(Group group, long items, LongConsumer work) {
    CollectiveConfig config = CollectiveConfig.builder().counters(1).build();
    try (Collective collective = Collective.open(group, ShmTransport.provider(), config)) {
      long item = collective.counters().fetchAndAdd(0, 1);
      while (item < items) {
        work.accept(item);
        item = collective.counters().fetchAndAdd(0, 1);
      }
      // Rank 0 holds the counter, and stays until all have seen that the queue is empty.
      group.allGather("queue is empty", new byte[0]);
    }
  }
}
