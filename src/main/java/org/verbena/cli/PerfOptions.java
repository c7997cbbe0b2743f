package org.verbena.cli;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** What all measures of {@code verbena perf} take, named as perftest names it. */
final class PerfOptions {
  @Parameters(
      arity = "0..1",
      paramLabel = "SERVER",
      description = "The server to connect to; without it, this is the server.")
  private @Nullable String host;

  @Option(
      names = {"-p", "--port"},
      paramLabel = "PORT",
      description = "TCP port of the server; ${DEFAULT-VALUE} unless given.")
  private int port = 18516;

  @Option(
      names = {"-n", "--iters"},
      paramLabel = "N",
      description = "Requests that are measured; ${DEFAULT-VALUE} unless given.")
  private int iterations = 5000;

  @Option(
      names = "--warmup",
      paramLabel = "N",
      description = "Requests before those, not measured; ${DEFAULT-VALUE} unless given.")
  private int warmup = 2000;

  @Option(
      names = {"-I", "--inline_size"},
      paramLabel = "BYTES",
      description = "Inline payload asked for; a size above it goes from registered memory.")
  private int inline = -1;

  @Option(names = "--json", description = "Print the result as JSON.")
  private boolean json;

  @Nullable String host() {
    return host;
  }

  int port() {
    return port;
  }

  int iterations() {
    return iterations;
  }

  int warmup() {
    return warmup;
  }

  int inline(int unlessGiven) {
    return inline < 0 ? unlessGiven : inline;
  }

  boolean json() {
    return json;
  }
}
