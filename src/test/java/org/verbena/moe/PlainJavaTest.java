package org.verbena.moe;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.acceptance.Acceptance;
import org.verbena.acceptance.Acceptance.CombineWay;
import org.verbena.acceptance.Acceptance.PhaseOrder;
import org.verbena.bootstrap.LocalGroup;
import org.verbena.layout.ExchangeShape;
import org.verbena.transport.IdleStrategy;
import org.verbena.transport.shm.ShmTransport;
import org.verbena.verbs.Verbs;

/**
 * An exchange in a Java that gives it next to nothing: no module but the base, no native access,
 * and one processor for all virtual threads, on which the ranks run.
 */
class PlainJavaTest {
  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anExchangeNeedsTheBaseModuleOnlyAndVirtualThreadsStarveNobody(boolean asModule)
      throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--illegal-native-access=deny");
    command.add("-Djdk.virtualThreadScheduler.parallelism=1");
    command.add("-Djdk.virtualThreadScheduler.maxPoolSize=1");
    if (asModule) {
      command.addAll(List.of("--limit-modules", "java.base,org.verbena"));
      command.addAll(List.of("--module-path", "target/classes"));
      command.addAll(List.of("--patch-module", "org.verbena=target/test-classes"));
      command.addAll(List.of("--module", "org.verbena/" + Job.class.getName()));
    } else {
      command.addAll(List.of("--limit-modules", "java.base"));
      command.addAll(
          List.of("--class-path", "target/classes" + File.pathSeparator + "target/test-classes"));
      command.add(Job.class.getName());
    }
    command.add(directory.toString());
    Path output = directory.resolve("output");
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    try {
      boolean ended = process.waitFor(60, TimeUnit.SECONDS);
      String said = Files.readString(output, UTF_8);
      assertThat(ended).as("ended in time, after saying: %s", said).isTrue();
      assertThat(process.exitValue()).as(said).isZero();
      String flag = "--enable-native-access=" + (asModule ? "org.verbena" : "ALL-UNNAMED");
      assertThat(said)
          .contains("rank 0 verified", "rank 1 verified", "rank 2 verified")
          .contains("views of rows are not guarded: start Java with " + flag)
          .contains("verbs: native access is denied to this library", flag)
          .contains(asModule ? "modules: java.base org.verbena\n" : "modules: java.base\n");
    } finally {
      process.destroyForcibly();
    }
  }

  /** Started in that Java. */
  static final class Job {
    private static final ExchangeShape SHAPE = new ExchangeShape(3, 6, 64, 5, 2);

    public static void main(String[] arguments) throws InterruptedException {
      List<Thread> ranks = new ArrayList<>();
      for (LocalGroup group : LocalGroup.of(SHAPE.ranks(), Duration.ofSeconds(40))) {
        ranks.add(Thread.startVirtualThread(() -> run(group, Path.of(arguments[0]))));
      }
      for (Thread rank : ranks) {
        rank.join();
      }
      System.out.println(
          "modules: "
              + String.join(
                  " ",
                  ModuleLayer.boot().modules().stream().map(Module::getName).sorted().toList()));
      System.out.println("verbs: " + Verbs.unavailabilityCause().orElse("available"));
    }

    /**
     * Waits as where there is a processor for each rank: with many spins before the first yield.
     */
    private static void run(LocalGroup group, Path directory) {
      ExchangeConfig config =
          ExchangeConfig.builder(SHAPE)
              .timeout(Duration.ofSeconds(40))
              .idleStrategy(IdleStrategy.backoff(5_000, 50, 500_000))
              .build();
      try (group;
          Exchange exchange = Exchange.open(group, ShmTransport.provider(directory), config);
          Acceptance acceptance = new Acceptance(exchange, (rank, input) -> 6 - rank, true, 5)) {
        acceptance.run(
            50, PhaseOrder.DISPATCH_AHEAD, CombineWay.HANDED_OVER, (round, phase, nanos) -> {});
        group.allGather("end of test", new byte[0]);
        System.out.printf(
            "rank %d verified %d values%n", group.rank(), acceptance.verifiedValues());
      }
    }
  }
}
