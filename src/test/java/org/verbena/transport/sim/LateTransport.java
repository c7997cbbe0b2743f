package org.verbena.transport.sim;

import java.lang.foreign.MemorySegment;
import org.verbena.transport.PeerState;
import org.verbena.transport.Registration;
import org.verbena.transport.Transport;

/** One rank's end of a {@link LateNetwork}. */
final class LateTransport implements Transport {
  private final LateNetwork network;
  private final int rank;
  private boolean closed;

  LateTransport(LateNetwork network, int rank) {
    this.network = network;
    this.rank = rank;
  }

  @Override
  public int rank() {
    return rank;
  }

  @Override
  public int size() {
    return network.ranks();
  }

  @Override
  public MemorySegment window() {
    return network.window(rank);
  }

  @Override
  public boolean isDirect(int peer) {
    return false;
  }

  @Override
  public MemorySegment stage(int peer) {
    return window();
  }

  @Override
  public long write(int peer, long remoteOffset, long localOffset, long bytes) {
    return network.post(
        rank,
        peer,
        (source, target) -> MemorySegment.copy(source, localOffset, target, remoteOffset, bytes));
  }

  @Override
  public Registration register(MemorySegment memory) {
    return Registration.of(memory);
  }

  @Override
  public long write(int peer, long remoteOffset, Registration from, long offset, long bytes) {
    return network.post(
        rank,
        peer,
        (_, target) -> MemorySegment.copy(from.memory(), offset, target, remoteOffset, bytes));
  }

  @Override
  public void signalRelease(int peer, long remoteOffset, long value) {
    network.post(rank, peer, LateNetwork.signal(remoteOffset, value));
  }

  @Override
  public void signalIntRelease(int peer, long remoteOffset, int value) {
    network.post(rank, peer, LateNetwork.signalInt(remoteOffset, value));
  }

  @Override
  public long read(int peer, long remoteOffset, long localOffset, long bytes) {
    return network.post(
        rank,
        peer,
        (source, target) -> MemorySegment.copy(target, remoteOffset, source, localOffset, bytes));
  }

  @Override
  public long fetchAndAdd(int peer, long remoteOffset, long delta, long localOffset) {
    return network.post(rank, peer, LateNetwork.add(remoteOffset, delta, localOffset));
  }

  @Override
  public long compareAndSwap(
      int peer, long remoteOffset, long expected, long value, long localOffset) {
    return network.post(rank, peer, LateNetwork.swap(remoteOffset, expected, value, localOffset));
  }

  @Override
  public boolean isComplete(int peer, long ticket) {
    return network.isComplete(rank, peer, ticket);
  }

  @Override
  public PeerState state(int peer) {
    return network.state(peer);
  }

  @Override
  public void fail(int culprit) {
    network.end(rank, new PeerState(PeerState.Kind.FAILED, culprit));
  }

  void kill() {
    network.end(rank, new PeerState(PeerState.Kind.DEAD, rank));
  }

  @Override
  public void close() {
    network.end(rank, new PeerState(PeerState.Kind.CLOSED, rank));
    if (!closed) {
      closed = true;
      network.close();
    }
  }
}
