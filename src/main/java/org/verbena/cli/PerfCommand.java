package org.verbena.cli;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code verbena perf}: the measures of perftest. */
@Command(
    name = "perf",
    mixinStandardHelpOptions = true,
    description = "Measures RDMA as perftest does.",
    subcommands = {
      PerfWriteBandwidth.class,
      PerfWriteLatency.class,
      PerfWriteImmediateLatency.class,
      PerfReadBandwidth.class,
      PerfReadLatency.class,
      PerfSendBandwidth.class,
      PerfSendLatency.class,
      PerfAtomicLatency.class
    })
final class PerfCommand implements Runnable {
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "Name a measure.");
  }
}
