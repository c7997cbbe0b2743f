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
import org.verbena.cluster.SecondDevice;

/** A host with two devices, of which one cannot be used, and hosts that lack what verbs need. */
@ClusterTest(nodes = 1)
@Tag("long")
class DevicesIT {
  private static final Duration DEADLINE = Duration.ofMinutes(2);
  private static final String LIBRARY = "/usr/lib/x86_64-linux-gnu/libibverbs.so.1";

  private final Node node;
  private final String first;
  private SecondDevice second;

  DevicesIT(Cluster cluster) {
    node = cluster.node(1);
    first = node.device().name();
  }

  @BeforeEach
  void addASecondDevice() {
    second = SecondDevice.alone(node);
    assertThat(chosen(second.name())).startsWith(second.name());
  }

  @AfterEach
  void removeIt() {
    second.close();
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

  /** Runs a shell command that mounts something over what all others see. */
  private ExecResult mounted(String command) {
    return node.exec(DEADLINE, "unshare", "-m", "sh", "-ec", command);
  }

  @Test
  void aDeviceWhosePortIsDownIsPassedOver() {
    second.takeDown();
    assertThat(chosen("")).startsWith(first + " not ").contains(second.name(), "DOWN");
    assertThat(chosen(second.name())).contains(second.name(), "DOWN");
  }

  @Test
  void aDeviceWithoutItsFileIsPassedOverAndRefusedWhereItIsAskedFor() {
    String hidden =
        "file=$(basename $(dirname $(grep -lx %s /sys/class/infiniband_verbs/*/ibdev)))"
                .formatted(first)
            + "; mount --bind /dev/null /dev/infiniband/$file; verbena devices";
    assertThat(mounted(hidden).orThrow().stdout())
        .contains("would use: " + second.name())
        .contains(first);
    ExecResult refused = mounted(hidden + " -d " + first);
    assertThat(refused.exitCode()).isEqualTo(1);
    assertThat(refused.stderr()).contains(first, "ibv_open_device");
  }

  @Test
  void withoutTheProviderItIsNamed() {
    ExecResult result = mounted("mount -t tmpfs none /etc/libibverbs.d; verbena devices");
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
