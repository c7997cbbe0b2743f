package org.verbena.transport.rdma;

import java.util.function.BiFunction;
import java.util.function.Function;
import org.verbena.bootstrap.Group;
import org.verbena.transport.Transport;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.shm.ShmTransport;
import org.verbena.verbs.PathChoice;
import org.verbena.verbs.PathSelector;
import org.verbena.verbs.Verbs;

/**
 * Opens transports that reach ranks on the same machine through shared memory, and the others by
 * RDMA. Who shares memory is tried out, peer by peer.
 */
public final class MixedProvider implements TransportProvider {
  private final RdmaSettings settings;
  private final Function<PathSelector, PathChoice> device;
  private final BiFunction<Group, Long, ShmTransport> memory;

  /** Opens the device that the settings name, or the best, and windows as shared memory does. */
  public MixedProvider(RdmaSettings settings) {
    this(settings, Verbs::open, ShmTransport::openPartly);
  }

  MixedProvider(
      RdmaSettings settings,
      Function<PathSelector, PathChoice> device,
      BiFunction<Group, Long, ShmTransport> memory) {
    this.settings = settings;
    this.device = device;
    this.memory = memory;
  }

  @Override
  public String name() {
    return "mixed";
  }

  @Override
  public boolean isDirect() {
    return false;
  }

  @Override
  public Transport open(Group group, long windowBytes) {
    ShmTransport near = memory.apply(group, windowBytes);
    boolean opened = false;
    try {
      boolean[] linked = new boolean[group.size()];
      for (int peer = 0; peer < linked.length; peer++) {
        linked[peer] = settings.atomics() || !near.isDirect(peer);
      }
      RdmaTransport far =
          RdmaProvider.open(group, settings, device, near.window(), () -> {}, linked);
      opened = true;
      return new MixedTransport(near, far);
    } finally {
      if (!opened) {
        near.close();
      }
    }
  }
}
