package org.verbena.transport.rdma;

import java.lang.foreign.MemorySegment;
import org.verbena.transport.IdleStrategy;
import org.verbena.transport.PeerState;
import org.verbena.transport.Registration;
import org.verbena.transport.Traffic;
import org.verbena.transport.Transport;
import org.verbena.transport.shm.ShmTransport;

/**
 * Shared memory to those who share it, RDMA to the others, over one window that is both mapped by
 * peers and registered. Atomics always go over the network, so that a word which it changes is
 * changed by nothing else.
 */
final class MixedTransport implements Transport {
  private final ShmTransport near;
  private final RdmaTransport far;
  private final IdleStrategy idle;

  MixedTransport(ShmTransport near, RdmaTransport far) {
    this.near = near;
    this.far = far;
    int here = 0;
    for (int peer = 0; peer < near.size(); peer++) {
      here += near.isDirect(peer) ? 1 : 0;
    }
    idle = here == near.size() ? IdleStrategy.forRanks(here) : IdleStrategy.forNetwork(here);
  }

  private Transport to(int peer) {
    return near.isDirect(peer) ? near : far;
  }

  @Override
  public int rank() {
    return near.rank();
  }

  @Override
  public int size() {
    return near.size();
  }

  @Override
  public MemorySegment window() {
    return near.window();
  }

  @Override
  public boolean isDirect(int peer) {
    return near.isDirect(peer);
  }

  @Override
  public MemorySegment stage(int peer) {
    return to(peer).stage(peer);
  }

  @Override
  public void channel(int channel) {
    far.channel(channel);
  }

  @Override
  public long write(int peer, long remoteOffset, long localOffset, long bytes) {
    return to(peer).write(peer, remoteOffset, localOffset, bytes);
  }

  @Override
  public Registration register(MemorySegment memory) {
    return far.register(memory);
  }

  @Override
  public long write(int peer, long remoteOffset, Registration from, long offset, long bytes) {
    return to(peer).write(peer, remoteOffset, from, offset, bytes);
  }

  @Override
  public void signalRelease(int peer, long remoteOffset, long value) {
    to(peer).signalRelease(peer, remoteOffset, value);
  }

  @Override
  public void signalIntRelease(int peer, long remoteOffset, int value) {
    to(peer).signalIntRelease(peer, remoteOffset, value);
  }

  @Override
  public void resetSignal(int peer, long remoteOffset) {
    to(peer).resetSignal(peer, remoteOffset);
  }

  @Override
  public long read(int peer, long remoteOffset, long localOffset, long bytes) {
    return to(peer).read(peer, remoteOffset, localOffset, bytes);
  }

  @Override
  public long fetchAndAdd(int peer, long remoteOffset, long delta, long localOffset) {
    return far.fetchAndAdd(peer, remoteOffset, delta, localOffset);
  }

  @Override
  public long compareAndSwap(
      int peer, long remoteOffset, long expected, long value, long localOffset) {
    return far.compareAndSwap(peer, remoteOffset, expected, value, localOffset);
  }

  @Override
  public boolean isComplete(int peer, long ticket) {
    return far.isComplete(peer, ticket);
  }

  @Override
  public void progress() {
    far.progress();
  }

  @Override
  public PeerState state(int peer) {
    return to(peer).state(peer);
  }

  @Override
  public void fail(int culprit) {
    near.fail(culprit);
    far.fail(culprit);
  }

  @Override
  public void close() {
    far.close();
    near.close();
  }

  @Override
  public IdleStrategy idleStrategy() {
    return idle;
  }

  @Override
  public String path(int peer) {
    return to(peer).path(peer);
  }

  @Override
  public Traffic traffic() {
    return far.traffic();
  }
}
