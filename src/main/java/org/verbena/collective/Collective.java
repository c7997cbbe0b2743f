package org.verbena.collective;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.verbena.bootstrap.Group;
import org.verbena.layout.CollectiveLayout;
import org.verbena.layout.RingLayout;
import org.verbena.transport.Transport;
import org.verbena.transport.TransportProvider;

/**
 * The one-sided moves of a group, in one window: {@linkplain #sync parameters} from one rank into
 * others, {@linkplain #sender activations} from stage to stage, {@linkplain #gather results} into
 * one rank, and {@linkplain #counters counters} that all share.
 *
 * <p><b>Threads.</b> One thread at a time, for all moves together. No thread of the library's own
 * runs, and none is needed for progress, except that a chunk of parameters is passed on by the
 * thread that receives it.
 *
 * <p><b>Failure.</b> If a peer that is waited for dies, closes, or does not come within the
 * timeout, the wait throws {@link org.verbena.transport.PeerException}; a peer that breaks the
 * protocol is a {@link CollectiveException}. After either, all moves can only be closed, and the
 * others learn of it. If all ranks are alive, another one can be opened on their group. An
 * interrupt ends a wait with {@link org.verbena.transport.WaitInterruptedException}; the same call
 * can then be repeated, unless its contract says otherwise.
 */
public final class Collective implements AutoCloseable {
  private final Port port;
  private final CollectiveLayout layout;
  private final @Nullable Sender[] senders;
  private final @Nullable Receiver[] receivers;
  private final @Nullable ResultGather gather;
  private final SharedCounters counters;
  private final @Nullable ParameterSync sync;

  private Collective(Transport transport, CollectiveLayout layout, CollectiveConfig config) {
    this.layout = layout;
    int ranks = transport.size();
    port = new Port(transport, config.idleStrategy(transport), config.timeout());
    senders = new Sender[ranks];
    receivers = new Receiver[ranks];
    addLinks(config.links(), config.linkMove());
    gather = config.gatherTarget() < 0 ? null : gather(config.gatherTarget());
    counters = new SharedCounters(port, layout);
    sync = config.chunkSlots() == 0 ? null : new ParameterSync(port, layout.chunks());
  }

  /**
   * Opens the moves of a group; collective: every rank calls it. Between hosts the transport must
   * allow what the moves use: reads for {@link Move#READ}, atomics for counters.
   *
   * @throws IllegalArgumentException if the configuration does not fit the group
   * @throws org.verbena.bootstrap.GroupException if ranks disagree on the configuration, or one
   *     could not get its window; thrown on all ranks, naming the rank and the reason
   */
  public static Collective open(Group group, TransportProvider provider, CollectiveConfig config) {
    CollectiveLayout layout = new CollectiveLayout(config.shape(group.size(), provider.isDirect()));
    group.agree(config.agreement(provider.name(), layout.bytes()));
    Transport transport = provider.open(group, layout.bytes());
    try {
      return new Collective(transport, layout, config);
    } catch (Throwable t) {
      transport.close();
      throw t;
    }
  }

  private void addLinks(List<Link> links, Move move) {
    int[] outgoing = new int[senders.length];
    int[] incoming = new int[senders.length];
    RingLayout rings = layout.links();
    for (Link link : links) {
      int out = outgoing[link.source()]++;
      int in = incoming[link.target()]++;
      if (link.source() == rank()) {
        senders[link.target()] =
            new Sender(port, "activation send", rings, move, link.target(), out, in);
      }
      if (link.target() == rank()) {
        receivers[link.source()] =
            new Receiver(port, "activation receive", rings, move, link.source(), out, in);
      }
    }
  }

  private ResultGather gather(int target) {
    RingLayout rings = layout.pieces();
    Sender sender = new Sender(port, "gather send", rings, Move.WRITE, target, 0, rank());
    if (target != rank()) {
      return new ResultGather(sender, null);
    }
    Receiver[] all = new Receiver[size()];
    for (int source = 0; source < all.length; source++) {
      all[source] = new Receiver(port, "gather receive", rings, Move.WRITE, source, 0, source);
    }
    return new ResultGather(sender, all);
  }

  /** This rank's number. */
  public int rank() {
    return port.rank();
  }

  /** How many ranks there are. */
  public int size() {
    return senders.length;
  }

  /** How this rank reaches another one, in words. */
  public String path(int peer) {
    return port.transport().path(Objects.checkIndex(peer, size()));
  }

  /** Where everything is in the window. */
  public CollectiveLayout layout() {
    return layout;
  }

  /**
   * The start of the link from this rank to another.
   *
   * @throws IllegalStateException if no such link was configured
   */
  public Sender sender(int target) {
    return configured(senders[target], "link to rank ", target);
  }

  /**
   * The end of the link from another rank to this one.
   *
   * @throws IllegalStateException if no such link was configured
   */
  public Receiver receiver(int source) {
    return configured(receivers[source], "link from rank ", source);
  }

  /**
   * The gather of results.
   *
   * @throws IllegalStateException if none was configured
   */
  public ResultGather gather() {
    return configured(gather, "gather");
  }

  /** The counters, as many as were configured. */
  public SharedCounters counters() {
    return counters;
  }

  /**
   * The sync of parameters.
   *
   * @throws IllegalStateException if none was configured
   */
  public ParameterSync sync() {
    return configured(sync, "sync");
  }

  private <T> T configured(@Nullable T move, String name) {
    if (move == null) {
      throw missing(name);
    }
    return move;
  }

  private <T> T configured(@Nullable T move, String name, int peer) {
    if (move == null) {
      throw missing(name + peer);
    }
    return move;
  }

  private IllegalStateException missing(String name) {
    return new IllegalStateException("rank %d: no %s was configured".formatted(port.rank(), name));
  }

  /**
   * Leaves in order and gives the window back: what this rank sent still arrives. Who is to read
   * from this rank, or to use its counters, must have done so. Closing again does nothing.
   *
   * @throws IllegalStateException if a native call of another thread uses the window; close again
   *     once it has returned
   */
  @Override
  public void close() {
    port.close();
  }
}
