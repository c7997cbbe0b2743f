package org.verbena.cli;

import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.verbena.bootstrap.Membership;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Options of the commands that join a group; each goes before what the launcher has set. */
final class GroupOptions {
  @Option(names = "--rank", paramLabel = "N", description = "The number of this rank, from 0.")
  private @Nullable Integer rank;

  @Option(names = "--size", paramLabel = "R", description = "The number of ranks.")
  private @Nullable Integer size;

  @Option(
      names = "--rendezvous",
      paramLabel = "WHERE",
      description = "Where rank 0 is found: host:port, [IPv6]:port or file:/path.")
  private @Nullable String rendezvous;

  @Option(names = "--job", paramLabel = "NAME", description = "Tells this run from others.")
  private @Nullable String job;

  @Option(
      names = "--timeout",
      paramLabel = "S",
      defaultValue = "30",
      description = "Seconds to wait for the other ranks (default: ${DEFAULT-VALUE}).")
  private int timeout;

  @Mixin private SecretOptions secret;

  /** Who this process is; throws IllegalArgumentException if that is not told, or wrong. */
  Membership membership(Map<String, String> environment) {
    Map<String, String> variables = secret.over(environment);
    put(variables, "VERBENA_RANK", rank);
    put(variables, "VERBENA_SIZE", size);
    put(variables, "VERBENA_RENDEZVOUS", rendezvous);
    put(variables, "VERBENA_JOB", job);
    return Membership.fromEnvironment(variables);
  }

  Duration timeout() {
    return Duration.ofSeconds(timeout);
  }

  private static void put(Map<String, String> variables, String name, @Nullable Object value) {
    if (value != null) {
      variables.put(name, value.toString());
    }
  }
}
