package org.verbena.transport.sim;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import org.verbena.bootstrap.Group;
import org.verbena.transport.Transport;
import org.verbena.transport.TransportProvider;

/**
 * A transport between threads that has no direct peer, and on which everything arrives late, in an
 * order that a seed decides. Order is kept from one rank to another, and nowhere else.
 */
public final class LateProvider implements TransportProvider {
  private static final Map<Long, LateNetwork> NETWORKS = new ConcurrentHashMap<>();

  private final long seed;
  private final Map<Integer, LateTransport> opened = new ConcurrentHashMap<>();

  public LateProvider(long seed) {
    this.seed = seed;
  }

  @Override
  public String name() {
    return "late";
  }

  @Override
  public boolean isDirect() {
    return false;
  }

  @Override
  public Transport open(Group group, long windowBytes) {
    byte[] mine = ByteBuffer.allocate(Long.BYTES).putLong(0, new Random().nextLong()).array();
    List<byte[]> keys = group.allGather("late network", mine);
    long key = ByteBuffer.wrap(keys.getFirst()).getLong();
    LateNetwork network =
        NETWORKS.computeIfAbsent(key, _ -> new LateNetwork(group.size(), windowBytes, seed));
    LateTransport transport = new LateTransport(network, group.rank());
    opened.put(group.rank(), transport);
    group.allGather("late network found", new byte[0]);
    NETWORKS.remove(key);
    return transport;
  }

  /** Ends a rank as if its process were killed: what it sent and has not arrived is lost. */
  public void kill(int rank) {
    Objects.requireNonNull(opened.get(rank)).kill();
  }
}
