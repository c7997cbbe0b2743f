package org.verbena.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.acceptance.Ranks;
import org.verbena.collective.SyncReport;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.rdma.FabricProvider;
import org.verbena.transport.rdma.RdmaSettings;
import org.verbena.transport.shm.ShmTransport;
import org.verbena.verbs.Fabric;

class ReadmeTest {
  private static final Path SOURCES = Path.of("src/test/java/org/verbena/examples");

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ExchangeExample",
        "RegisterExample",
        "SyncExample",
        "PipelineExample",
        "GatherExample",
        "WorkQueueExample"
      })
  void theReadmeHasTheExamplesAsTheyAreCompiled(String example) throws Exception {
    requireInReadme(SOURCES.resolve(example + ".java"));
  }

  /** What it does between two hosts, a test on the cluster sees. */
  @Test
  void theRdmaExampleStandsInTheReadmeAsItIsCompiled() throws Exception {
    Path source = Path.of("examples/org/verbena/examples/RdmaExample.java");
    requireInReadme(source);
    assertThat(Files.readAllLines(source)).hasSizeLessThan(80);
  }

  private static void requireInReadme(Path source) throws IOException {
    assertThat(Files.readString(Path.of("README.md")))
        .contains("```java\n" + Files.readString(source) + "```\n");
  }

  @Test
  void theExchangeExampleGivesWhatTheReadmeSays() throws Exception {
    Ranks.run(2, group -> assertThat(ExchangeExample.run(group)).isEqualTo(10f + group.rank()));
  }

  @Test
  void theRegisterExampleCopiesLessOverRdma(@TempDir Path folder) throws Exception {
    try (Fabric fabric = new Fabric(3)) {
      TransportProvider rdma = FabricProvider.rdma(fabric, RdmaSettings.DEFAULTS);
      Ranks.run(
          2,
          group -> {
            long shared = RegisterExample.run(group, ShmTransport.provider(folder), 4);
            // Of 16 rows, 8 stay on this rank and are copied there, each way.
            assertThat(shared - RegisterExample.run(group, rdma, 4)).isEqualTo(4 * 2 * 8 * 512);
          });
    }
  }

  @Test
  void theSyncExampleBringsFilesToAllRanks(@TempDir Path folder) throws Exception {
    Path file = Files.writeString(folder.resolve("weights"), "some weights");
    Ranks.run(
        3,
        group -> {
          Path to = Files.createDirectory(folder.resolve("rank" + group.rank()));
          SyncReport report = SyncExample.run(group, List.of(file), to);
          assertThat(report.bytes()).isEqualTo(Files.size(file));
          if (group.rank() > 0) {
            assertThat(to.resolve("weights")).hasSameBinaryContentAs(file);
          }
        });
  }

  @Test
  void thePipelineExampleAddsOneAtEachStage() throws Exception {
    // Messages 0 to 99, to each of which the three stages before the last have added 1.
    float sum = 99 * 100 / 2f + 100 * 3;
    Ranks.run(
        4,
        group ->
            assertThat(PipelineExample.run(group, 100)).isEqualTo(group.rank() == 3 ? sum : 0));
  }

  @Test
  void theGatherExampleGathersInTheOrderOfRanks() throws Exception {
    Ranks.run(
        3,
        group ->
            assertThat(GatherExample.run(group, "of rank " + group.rank() + "; "))
                .isEqualTo(group.rank() == 0 ? "of rank 0; of rank 1; of rank 2; " : ""));
  }

  @Test
  void theWorkQueueExampleDoesEachItemOnce() throws Exception {
    ConcurrentLinkedQueue<Long> done = new ConcurrentLinkedQueue<>();
    Ranks.run(3, group -> WorkQueueExample.run(group, 300, done::add));
    assertThat(done).containsExactlyInAnyOrderElementsOf(LongStream.range(0, 300).boxed().toList());
  }
}
