package org.verbena.cli;

import org.verbena.verbs.PathChoice;
import org.verbena.verbs.PathSelector;
import org.verbena.verbs.QueuePairOptions;
import org.verbena.verbs.Traffic;
import org.verbena.verbs.Verbs;
import picocli.CommandLine.Option;

/** The device, port and GID of a command, named as perftest and the verbs examples name them. */
final class RdmaOptions {
  /** As patient as perftest: where a network is done in software, acknowledgements may be late. */
  static final QueuePairOptions PAIR = QueuePairOptions.DEFAULTS.withRetries(14, 7, 12, 7);

  @Option(
      names = {"-d", "--ib-dev"},
      paramLabel = "DEVICE",
      description = "The device; chosen by its ports and GIDs unless given.")
  private String device = "";

  @Option(
      names = {"-i", "--ib-port"},
      paramLabel = "PORT",
      description = "The port of the device, from 1; the best active one unless given.")
  private int port;

  @Option(
      names = {"-g", "--gid-idx"},
      paramLabel = "INDEX",
      description = "The place of the GID in the port's table; chosen by content unless given.")
  private int gidIndex = -1;

  @Option(
      names = {"-l", "--sl"},
      paramLabel = "LEVEL",
      description = "Service level, 0 to 15; ${DEFAULT-VALUE} unless given.")
  private int serviceLevel;

  Traffic traffic() {
    return Traffic.DEFAULTS.withServiceLevel(serviceLevel);
  }

  PathChoice open() {
    return Verbs.open(new PathSelector(device, port, gidIndex));
  }
}
