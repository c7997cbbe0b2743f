package org.verbena.verbs;

import java.lang.foreign.ValueLayout;

/** Two connected queue pairs of a stand-in device, on one completion queue each. */
final class Loop implements AutoCloseable {
  final StandIn device;
  final Context context;
  final ProtectionDomain domain;
  final CompletionQueue sendQueue;
  final CompletionQueue receiveQueue;
  final QueuePair near;
  final QueuePair far;
  final MemoryRegion local;
  final MemoryRegion remote;
  final Completions found = new Completions(64);

  Loop(QueuePairOptions options) {
    this(new StandIn(), options);
  }

  Loop(StandIn device, QueuePairOptions options) {
    this.device = device;
    context = device.open();
    domain = context.createProtectionDomain();
    sendQueue = context.createCompletionQueue(1024);
    receiveQueue = context.createCompletionQueue(1024);
    near = domain.createQueuePair(device.path(context), options, sendQueue, sendQueue);
    far = domain.createQueuePair(device.path(context), options, receiveQueue, receiveQueue);
    near.connect(far.endpoint());
    far.connect(near.endpoint());
    local = domain.allocate(4096, Access.LOCAL_WRITE);
    remote = domain.allocate(4096, Access.REMOTE_WRITE, Access.REMOTE_READ, Access.REMOTE_ATOMIC);
  }

  /** Polls the near end once. */
  int poll() {
    return sendQueue.poll(found);
  }

  void setLocal(long offset, long value) {
    local.memory().set(ValueLayout.JAVA_LONG, offset, value);
  }

  long getLocal(long offset) {
    return local.memory().get(ValueLayout.JAVA_LONG, offset);
  }

  void setRemote(long offset, long value) {
    remote.memory().set(ValueLayout.JAVA_LONG, offset, value);
  }

  long getRemote(long offset) {
    return remote.memory().get(ValueLayout.JAVA_LONG, offset);
  }

  @Override
  public void close() {
    context.close();
  }
}
