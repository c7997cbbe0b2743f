package org.verbena.examples;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.verbena.bootstrap.Group;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.Exchange;
import org.verbena.moe.ExchangeConfig;
import org.verbena.moe.ReceivedRows;
import org.verbena.transport.TransportProvider;

/** An engine whose own tensors are sent from where they are. */
public final class RegisterExample {
  private RegisterExample() {}

  /** Runs rounds; returns how many bytes the exchange copied. */
  public static long run(Group group, TransportProvider provider, int rounds) {
    int n = 16;
    int hidden = 256;
    ExchangeShape shape = new ExchangeShape(group.size(), n, hidden, group.size(), 1);
    try (Arena arena = Arena.ofConfined();
        Exchange exchange = Exchange.open(group, provider, ExchangeConfig.builder(shape).build())) {
      MemorySegment tokens = arena.allocate(2L * n * hidden, 4096);
      MemorySegment finished = arena.allocate(2L * n * hidden * group.size(), 4096);
      exchange.register(tokens);
      exchange.register(finished);
      MemorySegment experts = arena.allocate(4L * n, 64);
      MemorySegment weights = arena.allocate(4L * n, 64);
      for (int i = 0; i < n; i++) {
        experts.setAtIndex(ValueLayout.JAVA_INT, i, i % group.size());
      }
      ReceivedRows rows = new ReceivedRows();
      for (int round = 0; round < rounds; round++) {
        long epoch = exchange.sendDispatch(tokens, experts, weights, n);
        exchange.receiveDispatch(epoch, rows);
        for (int row = 0; row < rows.rows(); row++) {
          // An engine computes here: a weighted sum over this rank's experts for each row.
          rows.copyRow(row, finished, 2L * hidden * row);
        }
        exchange.sendFinished(epoch, finished);
        exchange.receiveCombine(epoch, tokens);
        // From here on both tensors may be changed.
      }
      return exchange.counters().copiedBytes();
    }
  }
}
