package org.verbena.examples;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import org.verbena.bootstrap.Group;
import org.verbena.collective.Collective;
import org.verbena.collective.CollectiveConfig;
import org.verbena.collective.ResultGather;
import org.verbena.transport.shm.ShmTransport;

/** Texts of all ranks, each of its own length, to rank 0. */
public final class GatherExample {
  private GatherExample() {}

  /** Returns what rank 0 has gathered; nothing on the others. */
  public static String run(Group group, String text) {
    CollectiveConfig config = CollectiveConfig.builder().gather(0, 2, 1 << 16).build();
    StringBuilder all = new StringBuilder();
    try (Collective collective = Collective.open(group, ShmTransport.provider(), config)) {
      ResultGather gather = collective.gather();
      gather.send(MemorySegment.ofArray(text.getBytes(StandardCharsets.UTF_8)));
      if (gather.isTarget()) {
        gather.receive(); // waits until all pieces are there
        for (int rank = 0; rank < group.size(); rank++) {
          MemorySegment piece = gather.memory().asSlice(gather.offset(rank), gather.bytes(rank));
          all.append(new String(piece.toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8));
        }
        gather.release();
      }
      group.allGather("gathered", new byte[0]);
    }
    return all.toString();
  }
}
