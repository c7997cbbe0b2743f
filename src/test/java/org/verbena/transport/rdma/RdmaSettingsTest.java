package org.verbena.transport.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RdmaSettingsTest {
  @TempDir Path folder;

  @Test
  void anEmptyEnvironmentGivesTheDefaults() {
    assertThat(RdmaSettings.fromEnvironment(Map.of("NCCL_IB_TC", "106", "PATH", "/bin")))
        .isEqualTo(RdmaSettings.DEFAULTS);
  }

  @Test
  void variablesGoBeforeTheFileThatOneOfThemNames() throws Exception {
    Path file = folder.resolve("rdma.properties");
    Files.writeString(
        file,
        """
        verbena.rdma.device=mlx5_0
        verbena.rdma.gid-index = 3
        verbena.rdma.tc=106
        verbena.rdma.signal=fetch-and-add
        other=1
        """);
    RdmaSettings settings =
        RdmaSettings.fromEnvironment(
            Map.of(
                "VERBENA_RDMA_FILE", file.toString(),
                "VERBENA_RDMA_GID_INDEX", "1",
                "VERBENA_RDMA_QUEUE_PAIRS", "4",
                "VERBENA_RDMA_HUGE_PAGES", "/dev/hugepages",
                "VERBENA_RDMA_ATOMICS", "true"));

    assertThat(settings)
        .isEqualTo(
            RdmaSettings.builder()
                .device("mlx5_0")
                .gidIndex(1)
                .trafficClass(106)
                .queuePairs(4)
                .hugePages("/dev/hugepages")
                .signal(SignalKind.FETCH_AND_ADD)
                .atomics(true)
                .build());
    assertThat(RdmaSettings.fromFile(file).gidIndex()).isEqualTo(3);
  }

  @ParameterizedTest
  @CsvSource({
    "VERBENA_RDMA_GID, 1, there is no setting",
    "VERBENA_RDMA_PORT, one, one",
    "VERBENA_RDMA_TIMEOUT, 32, timeout is 32",
    "VERBENA_RDMA_QUEUE_DEPTH, 1, queue-depth is 1",
    "VERBENA_RDMA_CHUNK, 10, chunk is 10",
    "VERBENA_RDMA_SIGNAL, pigeon, fetch-and-add",
    "VERBENA_RDMA_READS, maybe, true or false",
    "VERBENA_RDMA_FILE, /nonexistent/file, can't be read"
  })
  void whatIsWrongIsNamed(String variable, String value, String part) {
    assertThatThrownBy(() -> RdmaSettings.fromEnvironment(Map.of(variable, value)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(part);
  }
}
