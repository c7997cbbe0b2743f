package org.verbena.transport;

import org.verbena.bootstrap.Group;

/** Makes transports of one kind. */
public interface TransportProvider {
  /** The kind in one word, such as {@code shm}: all ranks must agree on it. */
  String name();

  /**
   * Whether every peer will be {@linkplain Transport#isDirect direct}, so that no send region is
   * needed.
   */
  boolean isDirect();

  /**
   * Opens a transport; collective: every rank of the group calls it, with the same size.
   *
   * @param windowBytes size of each rank's window; the window is zero at first
   * @throws org.verbena.bootstrap.GroupException if a rank could not; it is thrown on all ranks,
   *     and names the rank and its reason
   */
  Transport open(Group group, long windowBytes);
}
