package org.verbena.bootstrap;

import java.util.OptionalInt;

/** Memberships of groups on this host. */
final class OneHost {
  private OneHost() {}

  static Membership membership(int rank, int size, Rendezvous rendezvous) {
    return membership(rank, size, "", rendezvous);
  }

  static Membership membership(int rank, int size, String job, Rendezvous rendezvous) {
    return new Membership(rank, size, OptionalInt.of(rank), OptionalInt.of(size), job, rendezvous);
  }
}
