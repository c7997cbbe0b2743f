package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;
import org.verbena.cluster.ExecResult;
import org.verbena.cluster.Node;

/** A host with two devices, of which one cannot be used, and hosts that lack what verbs need. */
@ClusterTest(nodes = 1)
@Tag("long")
class DevicesIT {
  private static final Duration DEADLINE = Duration.ofMinutes(2);
  private static final String LIBRARY = "/usr/lib/x86_64-linux-gnu/libibverbs.so.1";

  private final Node node;
  private final String first;
  private final String second;

  DevicesIT(Cluster cluster) {
    node = cluster.node(1);
    first = node.device().name();
    second = first + "_2";
  }

  /** A pair of interfaces, as one of them alone has no carrier. */
  @BeforeEach
  void addASecondDevice() {
    shell(
        "ip link add second type veth peer name other"
            + " && ip addr add 10.77.0.1/24 dev second && ip link set second up"
            + " && ip link set other up && rdma link add "
            + second
            + " type rxe netdev second");
    assertThat(chosen(second)).startsWith(second);
  }

  @AfterEach
  void removeIt() {
    shell("rdma link delete " + second + " && ip link delete second");
  }

  private void shell(String command) {
    node.exec("sh", "-ec", command).orThrow();
  }

  /**
   * The device that would be used and why the others would not, where {@code device} is asked for.
   */
  private String chosen(String device) {
    return node.call(
        () -> {
          try {
            PathChoice choice = Verbs.open(new PathSelector(device, 0, -1));
            choice.context().close();
            return choice.path().device() + " not " + choice.rejected();
          } catch (VerbsException e) {
            return String.valueOf(e.getMessage());
          }
        });
  }

  @Test
  void aDeviceWhosePortIsDownIsPassedOver() {
    shell("ip link set second down");
    assertThat(chosen("")).startsWith(first + " not ").contains(second, "DOWN");
    assertThat(chosen(second)).contains(second, "DOWN");
  }

  @Test
  void aDeviceWithoutItsFileIsPassedOverAndRefusedWhereItIsAskedFor() {
    String hidden =
        "file=$(basename $(dirname $(grep -lx %s /sys/class/infiniband_verbs/*/ibdev)))"
                .formatted(first)
            + "; mount --bind /dev/null /dev/infiniband/$file; verbena devices";
    ExecResult chosen = node.exec(DEADLINE, "unshare", "-m", "sh", "-ec", hidden);
    assertThat(chosen.orThrow().stdout()).contains("would use: " + second).contains(first);
    ExecResult refused = node.exec(DEADLINE, "unshare", "-m", "sh", "-ec", hidden + " -d " + first);
    assertThat(refused.exitCode()).isEqualTo(1);
    assertThat(refused.stderr()).contains(first, "ibv_open_device");
  }

  @Test
  void withoutTheProviderItIsNamed() {
    ExecResult result =
        node.exec(
            DEADLINE,
            "unshare",
            "-m",
            "sh",
            "-ec",
            "mount -t tmpfs none /etc/libibverbs.d; verbena devices");
    assertThat(result.exitCode()).isEqualTo(1);
    assertThat(result.stderr()).contains(first, "apt-get install ibverbs-providers");
  }

  @Test
  void withoutTheLibraryAllElseWorks() {
    ExecResult result =
        node.exec(
            DEADLINE,
            "sh",
            "-c",
            "mv %1$s /tmp/; verbena devices; echo ended with $?; verbena demo --ranks 2 --tokens 4"
                    .formatted(LIBRARY)
                + " --hidden 64 --experts 8 --topk 2 --rounds 2; mv /tmp/libibverbs.so.1 "
                + LIBRARY);
    assertThat(result.orThrow().stdout()).contains("ended with 1", "none wrong");
    assertThat(result.stderr()).contains("libibverbs.so.1", "apt-get install libibverbs1");
  }
}
