package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;
import org.verbena.cluster.Node;

/** Memory of other kinds, and regions that change, on a real device. */
@ClusterTest(nodes = 1)
class RegionIT {
  private static final QueuePairOptions OPTIONS =
      QueuePairOptions.DEFAULTS.withDepths(8, 8).withInline(8).withRetries(10, 3, 1, 2);
  private static final long HUGE = 2 << 20;

  private final Node node;

  RegionIT(Cluster cluster) {
    this.node = cluster.node(1);
  }

  private static MemorySegment map(Path file, long bytes, Arena arena) throws IOException {
    try (FileChannel channel =
        FileChannel.open(
            file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return channel.map(MapMode.READ_WRITE, 0, bytes, arena);
    }
  }

  /** Writes into the memory, reads back and closes the region before its memory. */
  private static boolean isReached(Path file, long bytes) throws IOException {
    try (Arena arena = Arena.ofShared();
        End near = new End(OPTIONS, 8192);
        End far = new End(OPTIONS, 4096)) {
      End.join(near, far);
      MemorySegment memory = map(file, bytes, arena);
      MemoryRegion region = far.domain.register(memory, Access.REMOTE_WRITE, Access.REMOTE_READ);
      for (long i = 0; i < 1024; i++) {
        near.region.memory().setAtIndex(ValueLayout.JAVA_INT, i, (int) i + 1);
      }
      SendRequests chain = near.pair.sendRequests(1, 1);
      long last = bytes - 4096;
      near.run(chain.write(region.remote(), last).from(near.region, 0, 4096).signaled());
      near.run(chain.clear().read(region.remote(), last).into(near.region, 4096, 4096).signaled());
      boolean same =
          memory.asSlice(last).mismatch(near.region.memory().asSlice(0, 4096)) == -1
              && near.region.memory().asSlice(4096).mismatch(near.region.memory().asSlice(0, 4096))
                  == -1;
      region.close();
      return same;
    }
  }

  @Test
  void aMappedFileInMemoryIsReached() {
    assertThat(node.<Boolean>call(() -> isReached(Path.of("/dev/shm/verbena-region"), 1 << 20)))
        .isTrue();
    node.exec("rm", "/dev/shm/verbena-region").orThrow();
  }

  @Test
  void hugePagesAreReached() {
    node.exec(
            "sh",
            "-c",
            "mkdir -p /mnt/huge && mount -t hugetlbfs -o pagesize=2M none /mnt/huge"
                + " && echo 4 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
                + " && grep -q 4 /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
        .orThrow();
    try {
      assertThat(node.<Boolean>call(() -> isReached(Path.of("/mnt/huge/verbena-region"), 2 * HUGE)))
          .isTrue();
    } finally {
      node.exec(
              "sh",
              "-c",
              "rm -f /mnt/huge/verbena-region; umount /mnt/huge;"
                  + " echo 0 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
          .orThrow();
    }
  }

  /** This device's driver does not know re-registration; that it refuses must do no harm. */
  @Test
  void aRegionThatCannotChangeStaysAsItWas() {
    assertThat(
            node.<Boolean>call(
                () -> {
                  try (Arena arena = Arena.ofShared();
                      End near = new End(OPTIONS, 4096);
                      End far = new End(OPTIONS, 4096)) {
                    End.join(near, far);
                    MemorySegment first = arena.allocate(4096, 4096);
                    MemorySegment second = arena.allocate(4096, 4096);
                    MemoryRegion region = far.domain.register(first, Access.REMOTE_WRITE);
                    assertThatThrownBy(() -> region.reregister(second, Access.REMOTE_WRITE))
                        .isInstanceOf(VerbsException.class)
                        .hasMessageContainingAll("ibv_rereg_mr", "EOPNOTSUPP");
                    assertThatThrownBy(() -> region.reregister(first, Access.REMOTE_READ))
                        .hasMessageContainingAll("ibv_rereg_mr", "EOPNOTSUPP");
                    assertThat(region.allows(Access.REMOTE_WRITE)).isTrue();
                    near.run(
                        near.pair
                            .sendRequests(1, 1)
                            .write(region.remote(), 0)
                            .fromLong(7)
                            .signaled());
                    region.close();
                    return first.get(ValueLayout.JAVA_LONG, 0) == 7;
                  }
                }))
        .isTrue();
  }

  @Test
  void aDescriptorThatIsNoDmaBufIsRefused() {
    assertThat(
            node.<Boolean>call(
                () -> {
                  try (End end = new End(OPTIONS, 4096)) {
                    assertThatThrownBy(
                            () -> end.domain.registerDmaBuf(0, 0, 4096, Access.LOCAL_WRITE))
                        .isInstanceOf(VerbsException.class)
                        .hasMessageContaining("ibv_reg_dmabuf_mr");
                    return true;
                  }
                }))
        .isTrue();
  }
}
