package org.verbena.examples;

import java.lang.foreign.ValueLayout;
import org.verbena.bootstrap.Group;
import org.verbena.collective.Collective;
import org.verbena.collective.CollectiveConfig;
import org.verbena.collective.Link;
import org.verbena.collective.Move;
import org.verbena.collective.Receiver;
import org.verbena.collective.Sender;
import org.verbena.transport.shm.ShmTransport;

/** Stages of a pipeline, each of which adds 1 to what it gets and passes it on. */
public final class PipelineExample {
  private PipelineExample() {}

  /** Returns the sum of what the last stage got; 0 on the others. */
  public static float run(Group group, int messages) {
    int rank = group.rank();
    boolean last = rank == group.size() - 1;
    CollectiveConfig config =
        CollectiveConfig.builder().links(Link.chain(group.size()), Move.WRITE, 4, 1 << 20).build();
    float sum = 0;
    try (Collective collective = Collective.open(group, ShmTransport.provider(), config)) {
      for (int i = 0; i < messages; i++) {
        float value = i;
        if (rank > 0) {
          Receiver receiver = collective.receiver(rank - 1);
          long at = receiver.receive(); // waits until a message is there
          value = receiver.memory().get(ValueLayout.JAVA_FLOAT, at);
          receiver.release(); // its memory may be used for another
        }
        if (last) {
          sum += value;
        } else {
          Sender sender = collective.sender(rank + 1);
          long at = sender.claim(); // waits while 4 messages are under way
          sender.memory().set(ValueLayout.JAVA_FLOAT, at, value + 1);
          sender.send(Float.BYTES);
        }
      }
      group.allGather("pipeline is empty", new byte[0]);
    }
    return sum;
  }
}
