package org.verbena.examples;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.verbena.bootstrap.Group;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.Bf16;
import org.verbena.moe.Exchange;
import org.verbena.moe.ExchangeConfig;
import org.verbena.moe.ReceivedRows;
import org.verbena.transport.shm.ShmTransport;

/** One rank: 3 tokens of 16 values, 8 experts, 2 of them for each token. */
public final class ExchangeExample {
  private ExchangeExample() {}

  public static float run(Group group) {
    int n = 3;
    ExchangeShape shape = new ExchangeShape(group.size(), n, 16, 8, 2);
    ExchangeConfig config = ExchangeConfig.builder(shape).build();
    try (Arena arena = Arena.ofConfined();
        Exchange exchange = Exchange.open(group, ShmTransport.provider(), config)) {
      // What the engine has: tokens bf16 [n][16], expert ids int32 [n][2], weights float32 [n][2].
      MemorySegment tokens = arena.allocate(2L * n * 16, 64);
      for (int i = 0; i < n * 16; i++) {
        tokens.setAtIndex(ValueLayout.JAVA_SHORT, i, Bf16.fromFloat(10 + group.rank()));
      }
      MemorySegment experts = arena.allocateFrom(ValueLayout.JAVA_INT, 0, 7, 3, 4, 5, -1);
      MemorySegment weights = arena.allocateFrom(ValueLayout.JAVA_FLOAT, .5f, .5f, 1, 1, 2, 0);

      long epoch = exchange.sendDispatch(tokens, experts, weights, n);
      // ... what does not need the others' tokens can be computed here ...
      ReceivedRows rows = exchange.receiveDispatch(epoch, new ReceivedRows());

      // A matrix for each expert of this rank, one behind the other. These experts do nothing.
      MemorySegment output = arena.allocate(2L * rows.entries() * 16, 64);
      for (int local = 0; local < rows.experts(); local++) {
        rows.gather(local, output, 2L * rows.firstEntry(local) * 16);
      }
      exchange.sendCombine(epoch, output);
      // ... and what does not need the results, here ...
      MemorySegment out = arena.allocate(2L * n * 16, 64);
      exchange.receiveCombine(epoch, out);
      return Bf16.toFloat(out.getAtIndex(ValueLayout.JAVA_SHORT, 0));
    }
  }
}
