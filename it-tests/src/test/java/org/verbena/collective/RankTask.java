package org.verbena.collective;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.verbena.bootstrap.Group;
import org.verbena.bootstrap.Membership;
import org.verbena.bootstrap.Rendezvous;
import org.verbena.bootstrap.TcpGroup;
import org.verbena.cluster.Task;
import org.verbena.transport.PeerException;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.rdma.MixedProvider;
import org.verbena.transport.rdma.RdmaProvider;
import org.verbena.transport.rdma.RdmaSettings;

/** What one rank does on its node. */
record RankTask(RankTask.Part part, int rank, int size, String job, boolean mixed)
    implements Task<String> {
  enum Part {
    ALL_MOVES,
    ENDLESS_SYNC,
    ENDLESS_LINKS,
    ENDLESS_GATHER,
    ENDLESS_COUNT
  }

  private static final int PORT = 29700;
  private static final Duration TIMEOUT = Duration.ofSeconds(90);
  private static final int PARAMETER_BYTES = 500_001;
  private static final int MESSAGE_BYTES = 3000;

  /** Counted down once something has arrived in this process. */
  private static final CountDownLatch PROGRESS = new CountDownLatch(1);

  /** Runs in a node. */
  static String awaitProgress() throws InterruptedException {
    assertThat(PROGRESS.await(180, TimeUnit.SECONDS)).as("progress of this rank").isTrue();
    return "under way";
  }

  @Override
  public String call() {
    Membership membership =
        new Membership(
            rank,
            size,
            OptionalInt.of(0),
            OptionalInt.of(1),
            job,
            new Rendezvous.At("node1", PORT),
            Optional.empty(),
            true);
    RdmaSettings settings = RdmaSettings.builder().reads(true).atomics(true).build();
    TransportProvider provider = mixed ? new MixedProvider(settings) : new RdmaProvider(settings);
    CollectiveConfig config =
        CollectiveConfig.builder()
            .sync(3, 64 << 10)
            .links(Link.ring(size), Move.READ, 4, MESSAGE_BYTES)
            .gather(1, 2, MESSAGE_BYTES)
            .counters(4)
            .timeout(TIMEOUT)
            .build();
    try (Group group = TcpGroup.join(membership, TIMEOUT);
        Collective collective = Collective.open(group, provider, config);
        Arena arena = Arena.ofShared()) {
      MemorySegment memory = arena.allocate(PARAMETER_BYTES, 64);
      if (rank == 0) {
        MemorySegment.copy(bytes(1, PARAMETER_BYTES), 0, memory, 0, PARAMETER_BYTES);
      }
      MemoryParameters parameters = new MemoryParameters().add("all", memory);
      if (part != Part.ALL_MOVES) {
        return untilLost(collective);
      }
      sync(collective, parameters, Route.chain(size));
      check(memory, 1, PARAMETER_BYTES);
      sync(collective, parameters, Route.tree(size));
      if (rank < 2) {
        sync(collective, parameters, Route.pull(1, 0));
      }
      links(collective, 40);
      gather(collective.gather(), 10);
      group.allGather("counters", new byte[0]);
      count(group, collective.counters());
      group.allGather("done", new byte[0]);
      return "done";
    }
  }

  private static MemorySegment bytes(long seed, int count) {
    byte[] bytes = new byte[count];
    new Random(seed).nextBytes(bytes);
    return MemorySegment.ofArray(bytes);
  }

  private static void check(MemorySegment memory, long seed, int count) {
    assertThat(memory.mismatch(bytes(seed, count))).isEqualTo(-1);
  }

  private static void sync(Collective collective, MemoryParameters parameters, Route route) {
    sync(collective, parameters, parameters, route);
    assertThat(parameters.isWhole()).isTrue();
  }

  private static void sync(
      Collective collective, ParameterSource source, ParameterTarget target, Route route) {
    if (collective.rank() == route.source()) {
      collective.sync().send(source, route, SyncProgress.NONE);
    } else {
      collective.sync().receive(target, route, SyncProgress.NONE);
    }
  }

  private String untilLost(Collective collective) {
    Endless endless = new Endless();
    try {
      switch (part) {
        case ENDLESS_LINKS -> links(collective, Integer.MAX_VALUE);
        case ENDLESS_GATHER -> gather(collective.gather(), Integer.MAX_VALUE);
        case ENDLESS_COUNT -> count(collective.counters(), size - 1);
        default -> sync(collective, endless, endless, Route.chain(size));
      }
      return "ended";
    } catch (PeerException e) {
      return "lost rank %d, %s: %s"
          .formatted(e.peer(), endless.kept ? "kept" : "nothing kept", e.getMessage());
    }
  }

  /** More zeros than any test can wait for. */
  private static final class Endless implements ParameterSource, ParameterTarget {
    private boolean kept;

    @Override
    public List<Parameter> parameters() {
      return List.of(new Parameter("endless", 1L << 40));
    }

    @Override
    public void read(int parameter, long offset, MemorySegment to, long at, int bytes) {
      to.asSlice(at, bytes).fill((byte) 0);
    }

    @Override
    public void verify(int checksum) {}

    @Override
    public void begin(List<Parameter> parameters) {}

    @Override
    public void write(int parameter, long offset, MemorySegment from, long at, int bytes) {
      PROGRESS.countDown();
    }

    @Override
    public void finish(int checksum) {}

    @Override
    public void commit() {
      kept = true;
    }

    @Override
    public void abort() {}
  }

  private void links(Collective collective, int count) {
    Sender sender = collective.sender((rank + 1) % size);
    Receiver receiver = collective.receiver((rank + size - 1) % size);
    for (int number = 0; number < count; number++) {
      int bytes = 1 + number % 100 * 31 % MESSAGE_BYTES;
      sender.send(bytes(number, bytes));
      long at = receiver.receive();
      check(receiver.memory().asSlice(at, receiver.bytes()), number, bytes);
      receiver.release();
      PROGRESS.countDown();
    }
  }

  private void gather(ResultGather gather, int count) {
    for (int number = 0; number < count; number++) {
      gather.send(bytes(number, rank * 100 + number % 100));
      if (gather.isTarget()) {
        gather.receive();
        for (int source = 0; source < size; source++) {
          assertThat(gather.bytes(source)).isEqualTo(source * 100 + number % 100);
          check(
              gather.memory().asSlice(gather.offset(source), gather.bytes(source)),
              number,
              source * 100 + number % 100);
        }
        gather.release();
      }
      PROGRESS.countDown();
    }
  }

  private static void count(SharedCounters counters, int counter) {
    while (true) {
      counters.fetchAndAdd(counter, 1);
      PROGRESS.countDown();
    }
  }

  private void count(Group group, SharedCounters counters) {
    for (int i = 0; i < 15; i++) {
      counters.fetchAndAdd(1, 2);
      long found = counters.get(3);
      for (long expected = found + 1; found != expected; ) {
        expected = found;
        found = counters.compareAndSwap(3, expected, expected + 1);
      }
    }
    group.allGather("counted", new byte[0]);
    assertThat(counters.get(1)).isEqualTo(2L * 15 * size);
    assertThat(counters.get(3)).isEqualTo(15L * size);
  }
}
