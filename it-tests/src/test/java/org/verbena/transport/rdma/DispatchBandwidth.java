package org.verbena.transport.rdma;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import org.verbena.bootstrap.Group;
import org.verbena.bootstrap.Membership;
import org.verbena.bootstrap.TcpGroup;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.Exchange;
import org.verbena.moe.ExchangeConfig;
import org.verbena.moe.ReceivedRows;

/**
 * How many bytes of rows a dispatch moves from rank 1 to rank 0 in a second, staging included.
 * Between the rounds, which are not timed as a whole, the rows go back. Started on each rank as
 * launchers do; prints MiB/s on rank 0.
 */
final class DispatchBandwidth {
  private static final int TOKENS = 128;
  private static final int HIDDEN = 7168;

  private DispatchBandwidth() {}

  /** Takes the number of rounds, and of those before that warm up. */
  public static void main(String[] args) {
    int rounds = Integer.parseInt(args[0]);
    int warmup = Integer.parseInt(args[1]);
    Membership membership = Membership.fromEnvironment(System.getenv());
    ExchangeConfig config =
        ExchangeConfig.builder(new ExchangeShape(2, TOKENS, HIDDEN, 2, 1)).build();
    RdmaProvider provider = new RdmaProvider(RdmaSettings.fromEnvironment(System.getenv()));
    try (Group group = TcpGroup.join(membership, Duration.ofSeconds(60));
        Exchange exchange = Exchange.open(group, provider, config);
        Arena arena = Arena.ofConfined()) {
      int count = group.rank() == 0 ? 0 : TOKENS;
      MemorySegment tokens = arena.allocate(2L * TOKENS * HIDDEN, 64);
      MemorySegment experts = arena.allocate(4L * TOKENS, 64);
      MemorySegment weights = arena.allocate(4L * TOKENS, 64);
      MemorySegment output = arena.allocate(2L * TOKENS * HIDDEN, 64);
      ReceivedRows rows = new ReceivedRows();
      long nanos = 0;
      for (int round = -warmup; round < rounds; round++) {
        weights.fill((byte) 0);
        experts.fill((byte) 0);
        tokens.setAtIndex(ValueLayout.JAVA_SHORT, 0, (short) round);
        group.allGather("go", new byte[0]);
        long start = System.nanoTime();
        long epoch = exchange.sendDispatch(tokens, experts, weights, count);
        exchange.receiveDispatch(epoch, rows);
        nanos += round < 0 ? 0 : System.nanoTime() - start;
        exchange.sendCombine(epoch, output);
        exchange.receiveCombine(epoch, tokens);
      }
      if (group.rank() == 0) {
        double bytes = 2.0 * TOKENS * HIDDEN * rounds;
        System.out.printf("%.2f%n", bytes / (1 << 20) / (nanos / 1e9));
      }
      group.allGather("end", new byte[0]);
    }
  }
}
