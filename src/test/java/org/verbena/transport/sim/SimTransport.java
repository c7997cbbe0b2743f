package org.verbena.transport.sim;

import java.lang.foreign.MemorySegment;
import org.verbena.transport.PeerState;
import org.verbena.transport.Registration;
import org.verbena.transport.Transport;

/** One rank's end of a {@link Network}. It is not direct, not even to itself. */
public class SimTransport implements Transport {
  private final Network network;
  private final int rank;

  public SimTransport(Network network, int rank) {
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
    return network.write(rank, peer, remoteOffset, localOffset, bytes);
  }

  @Override
  public Registration register(MemorySegment memory) {
    throw unused();
  }

  @Override
  public long write(int peer, long remoteOffset, Registration from, long offset, long bytes) {
    throw unused();
  }

  @Override
  public void signalRelease(int peer, long remoteOffset, long value) {
    network.signal(rank, peer, remoteOffset, Long.BYTES, value);
  }

  @Override
  public void signalIntRelease(int peer, long remoteOffset, int value) {
    network.signal(rank, peer, remoteOffset, Integer.BYTES, value);
  }

  @Override
  public long read(int peer, long remoteOffset, long localOffset, long bytes) {
    throw unused();
  }

  @Override
  public long fetchAndAdd(int peer, long remoteOffset, long delta, long localOffset) {
    throw unused();
  }

  @Override
  public long compareAndSwap(
      int peer, long remoteOffset, long expected, long value, long localOffset) {
    throw unused();
  }

  private static UnsupportedOperationException unused() {
    return new UnsupportedOperationException(
        "a round here neither reads remotely, nor uses atomics or registered memory");
  }

  @Override
  public boolean isComplete(int peer, long ticket) {
    return network.isComplete(rank, peer, ticket);
  }

  @Override
  public PeerState state(int peer) {
    return new PeerState(PeerState.Kind.ALIVE, peer);
  }

  /** Nobody to tell: the exchange throws, and that ends the schedule. */
  @Override
  public void fail(int culprit) {}

  /** Nothing to give back: the network owns the windows. */
  @Override
  public void close() {}
}
