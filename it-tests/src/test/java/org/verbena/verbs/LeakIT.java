package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;
import org.verbena.cluster.Node;

/** Whether opening, connecting, traffic and closing leave everything where it was. */
@ClusterTest(nodes = 1)
class LeakIT {
  private static final QueuePairOptions OPTIONS =
      QueuePairOptions.DEFAULTS.withDepths(8, 8).withInline(8);
  private static final int WARM_UP = 20;

  /** What the heap and the compiler may still take: a leak of 100 kB in each cycle is more. */
  private static final long MOST_GROWTH_KB = 16 << 10;

  private final Node node;

  LeakIT(Cluster cluster) {
    this.node = cluster.node(1);
  }

  /** What this process has: open descriptors, pinned and resident memory in kB. */
  private record Holding(long descriptors, long pinned, long resident) {
    static Holding now() throws IOException {
      try (Stream<Path> open = Files.list(Path.of("/proc/self/fd"))) {
        return new Holding(open.count(), status("VmPin:"), status("VmRSS:"));
      }
    }

    private static long status(String field) throws IOException {
      try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
        String line = lines.filter(each -> each.startsWith(field)).findFirst().orElseThrow();
        return Long.parseLong(line.replaceAll("\\D", ""));
      }
    }
  }

  private static void cycle() throws IOException {
    try (End near = new End(OPTIONS, 1 << 16);
        End far = new End(OPTIONS, 1 << 16)) {
      End.join(near, far);
      SendRequests chain = near.pair.sendRequests(2, 1);
      chain.write(near.remote(), 0).from(near.region, 0, 4096);
      near.run(chain.write(near.remote(), 8192).fromLong(1).signaled());
    }
  }

  private static void cycles(int cycles) throws IOException {
    for (int i = 0; i < WARM_UP; i++) {
      cycle();
    }
    Holding before = Holding.now();
    for (int i = 0; i < cycles; i++) {
      cycle();
    }
    Holding after = Holding.now();
    assertThat(after.descriptors()).isEqualTo(before.descriptors());
    assertThat(after.pinned()).isEqualTo(before.pinned());
    assertThat(after.resident() - before.resident()).isLessThan(MOST_GROWTH_KB);
  }

  /** Writes between two more queue pairs all the while. */
  private static void cyclesUnderLoad(int cycles) throws Exception {
    AtomicBoolean done = new AtomicBoolean();
    try (End near = new End(OPTIONS, 1 << 16);
        End far = new End(OPTIONS, 1 << 16)) {
      End.join(near, far);
      SendRequests write =
          near.pair.sendRequests(1, 1).write(near.remote(), 0).from(near.region, 0, 16384);
      write.signaled();
      CompletableFuture<Void> load =
          CompletableFuture.runAsync(
              () -> {
                while (!done.get()) {
                  near.run(write);
                }
              });
      try {
        cycles(cycles);
      } finally {
        done.set(true);
        load.get(End.PATIENCE.toSeconds(), TimeUnit.SECONDS);
      }
    }
  }

  private void leavesNothing(int cycles) {
    String before = resources();
    assertThat(
            node.<Boolean>call(
                Duration.ofMinutes(20),
                () -> {
                  cycles(cycles / 2);
                  cyclesUnderLoad(cycles - cycles / 2);
                  return true;
                }))
        .isTrue();
    assertThat(resources()).isEqualTo(before);
  }

  /** What the node's own device has: {@code pd 1 cq 1 qp 1 ...}. */
  private String resources() {
    return node.exec("rdma", "resource", "show", node.device().name()).orThrow().stdout();
  }

  @Test
  void twoHundredCyclesLeaveNothing() {
    leavesNothing(200);
  }

  @Test
  @Tag("long")
  void fifteenHundredCyclesLeaveNothing() {
    leavesNothing(1500);
  }
}
