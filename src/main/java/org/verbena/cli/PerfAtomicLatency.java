package org.verbena.cli;

import org.verbena.verbs.Access;
import org.verbena.verbs.SendRequests;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code verbena perf atomic-lat}: as {@code ib_atomic_lat}. */
@Command(
    name = "atomic-lat",
    mixinStandardHelpOptions = true,
    description = {
      "Measures how long an atomic takes, there and back, as ib_atomic_lat does; 8 bytes.",
      "The server sleeps meanwhile. Give both ends the same -n."
    })
final class PerfAtomicLatency extends PerfRoundTrip {
  /** The atomics, named as perftest names them. */
  enum Kind {
    FETCH_AND_ADD,
    CMP_AND_SWAP
  }

  @Option(
      names = {"-A", "--atomic_type"},
      paramLabel = "KIND",
      description = "${COMPLETION-CANDIDATES}; ${DEFAULT-VALUE} unless given.")
  private Kind kind = Kind.FETCH_AND_ADD;

  PerfAtomicLatency() {
    super(8, Long.BYTES);
  }

  @Override
  void validate() {
    super.validate();
    require(size() == Long.BYTES, "An atomic has 8 bytes.");
  }

  @Override
  Access[] access() {
    return new Access[] {Access.REMOTE_ATOMIC};
  }

  @Override
  SendRequests request(PerfConnection connection) {
    SendRequests chain = connection.pair().sendRequests(1, 1);
    return kind == Kind.FETCH_AND_ADD
        ? chain.fetchAndAdd(connection.remote(), 0, 1, connection.buffer(), half())
        : chain.compareAndSwap(connection.remote(), 0, 0, 1, connection.buffer(), half());
  }
}
