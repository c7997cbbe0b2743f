package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.Serializable;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;
import org.verbena.cluster.Node;
import org.verbena.cluster.RdmaDevice;

/**
 * What must work and what must fail, between two queue pairs of one device; {@code docs/verbs.md}
 * sets these tests beside the verbs. What this library refuses before the device sees it is forged
 * where the device's own answer is of interest.
 */
@ClusterTest(nodes = 1)
class BehaviourIT {
  private static final QueuePairOptions OPTIONS =
      QueuePairOptions.DEFAULTS.withDepths(8, 8).withScatter(4, 4).withInline(64);

  /** How devices tell that a local piece of memory is not as the request says: rxe in many ways. */
  private static final Set<Status> LOCAL_FAULTS =
      EnumSet.of(
          Status.LOC_PROT_ERR, Status.LOC_QP_OP_ERR, Status.LOC_LEN_ERR, Status.WR_FLUSH_ERR);

  /** How they tell it to the peer whose message cannot be received. */
  private static final Set<Status> REMOTE_FAULTS =
      EnumSet.of(Status.REM_OP_ERR, Status.REM_INV_REQ_ERR);

  private final Node node;

  BehaviourIT(Cluster cluster) {
    this.node = cluster.node(1);
  }

  /** What to do with two ends that are connected. */
  private interface Body extends Serializable {
    void run(End near, End far) throws Exception;
  }

  private void between(Body body) {
    between(false, body);
  }

  private void between(boolean atomicWrite, Body body) {
    assertThat(
            node.<Boolean>call(
                Duration.ofMinutes(2),
                () -> {
                  QueuePairOptions options = atomicWrite ? OPTIONS.withAtomicWrite() : OPTIONS;
                  try (End near = new End(options, 1 << 16);
                      End far = new End(options, 1 << 16)) {
                    End.join(near, far);
                    body.run(near, far);
                    return true;
                  }
                }))
        .isTrue();
  }

  private static Status end(End end, SendRequests chain) {
    assertThat(end.pair.post(chain)).isTrue();
    end.await();
    return end.found.status(0);
  }

  // What must work

  @Test
  void writesAndReadsOfNoBytesComplete() {
    between(
        (near, far) -> {
          RemoteRegion remote = near.remote();
          SendRequests chain = near.pair.sendRequests(1, 1);
          far.set(0, 5);
          near.run(chain.clear().write(remote, 0).signaled());
          near.run(chain.clear().write(remote, remote.length()).from(near.region, 8, 0).signaled());
          near.run(chain.clear().read(remote, 0).signaled());
          assertThat(near.found.opcode(0)).isEqualTo(Opcode.RDMA_READ);
          near.run(chain.clear().read(remote, 8).into(near.region, 0, 0).signaled());
          far.pair.post(far.pair.receiveRequests(2, 0).receive(1).receive(2));
          near.run(chain.clear().send().signaled());
          near.run(chain.clear().writeWithImmediate(remote, 0, 9).signaled());
          End.await(
              "receives", () -> far.pair.freeReceives() == 8 || far.queue.poll(far.found) > 2);
          assertThat(far.get(0)).isEqualTo(5);
        });
  }

  @Test
  void piecesAreGatheredAndScatteredInOrder() {
    between(
        (near, far) -> {
          for (int i = 0; i < 64; i++) {
            near.set(8L * i, i);
          }
          SendRequests chain = near.pair.sendRequests(1, 4);
          chain.write(near.remote(), 0);
          chain.from(near.region, 24, 8).from(near.region, 0, 0).from(near.region, 8, 16);
          near.run(chain.from(near.region, 504, 8).signaled());
          assertThat(new long[] {far.get(0), far.get(8), far.get(16), far.get(24)})
              .containsExactly(3, 1, 2, 63);
          chain.clear().read(near.remote(), 0).into(near.region, 1024, 8);
          near.run(chain.into(near.region, 2048, 24).signaled());
          assertThat(new long[] {near.get(1024), near.get(2048), near.get(2064)})
              .containsExactly(3, 1, 63);
        });
  }

  @Test
  void inlinePayloadIsFreeOnceItIsPosted() {
    between(
        (near, far) -> {
          SendRequests chain = near.pair.sendRequests(1, 1);
          chain.write(near.remote(), 0).from(near.region, 0, 64).inline().signaled();
          for (int i = 1; i <= 50; i++) {
            near.set(0, i);
            near.pair.post(chain);
            near.set(0, -1);
            near.await();
            near.found.requireSuccess(0);
            assertThat(far.get(0)).isEqualTo(i);
          }
        });
  }

  @Test
  void atomicsAreAtomicAndTellWhatWasThere() {
    between(
        (near, far) -> {
          SendRequests chain = near.pair.sendRequests(4, 1);
          for (int i = 0; i < 4; i++) {
            chain.fetchAndAdd(near.remote(), 64, 1L << (16 * i), near.region, 8L * i);
          }
          near.run(chain.signaled());
          assertThat(far.get(64)).isEqualTo(0x0001_0001_0001_0001L);
          assertThat(near.get(24)).isEqualTo(0x0001_0001_0001L);
          chain.clear().compareAndSwap(near.remote(), 64, 7, 8, near.region, 0).signaled();
          near.run(chain);
          assertThat(far.get(64)).as("it was not 7").isEqualTo(0x0001_0001_0001_0001L);
          assertThat(near.get(0)).isEqualTo(0x0001_0001_0001_0001L);
        });
  }

  @Test
  void anAtomicWriteIsSeenWhole() {
    between(
        true,
        (near, far) -> {
          for (long i = 1; i <= 50; i++) {
            assertThat(near.pair.postAtomicWrite(near.remote(), 8, i << 32 | i, i)).isTrue();
            near.await();
            near.found.requireSuccess(0);
            assertThat(near.found.opcode(0)).isEqualTo(Opcode.ATOMIC_WRITE);
            assertThat(near.found.id(0)).isEqualTo(i);
            assertThat(far.get(8)).isEqualTo(i << 32 | i);
          }
          near.run(near.pair.sendRequests(1, 1).write(near.remote(), 0).fromLong(3).signaled());
          assertThat(far.get(0)).isEqualTo(3);
        });
  }

  @Test
  void oneReadUnderWayIsEnoughForManyReads() {
    assertThat(
            node.<Boolean>call(
                () -> {
                  try (End near = new End(OPTIONS.withReadDepth(1), 4096);
                      End far = new End(OPTIONS, 4096)) {
                    End.join(near, far);
                    far.set(0, 7);
                    SendRequests chain = near.pair.sendRequests(8, 1);
                    for (int i = 0; i < 8; i++) {
                      chain.read(near.remote(), 0).into(near.region, 8L * i, 8);
                    }
                    near.run(chain.signaled());
                    return near.get(56) == 7;
                  }
                }))
        .isTrue();
  }

  @Test
  void aRegionWithRelaxedOrderingIsWritten() {
    between(
        (near, far) -> {
          MemoryRegion relaxed =
              far.domain.allocate(4096, Access.REMOTE_WRITE, Access.RELAXED_ORDERING);
          near.set(0, 99);
          near.run(
              near.pair
                  .sendRequests(1, 1)
                  .write(relaxed.remote(), 8)
                  .from(near.region, 0, 8)
                  .signaled());
          assertThat(relaxed.memory().get(ValueLayout.JAVA_LONG, 8)).isEqualTo(99);
        });
  }

  // What is refused before the device sees it

  @Test
  void postingInTheWrongStateIsRefusedAndChangesNothing() {
    assertThat(
            node.<Boolean>call(
                () -> {
                  try (End near = new End(OPTIONS, 4096);
                      End far = new End(OPTIONS, 4096)) {
                    SendRequests send = near.pair.sendRequests(1, 0).send().signaled();
                    ReceiveRequests receive = near.pair.receiveRequests(1, 0).receive(1);
                    assertThatThrownBy(() -> near.pair.post(receive))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("RESET");
                    assertThatThrownBy(() -> near.pair.post(send)).hasMessageContaining("RESET");
                    near.pair.initialize();
                    assertThatThrownBy(() -> near.pair.post(send)).hasMessageContaining("INIT");
                    near.pair.readyToReceive(far.pair.endpoint());
                    assertThatThrownBy(() -> near.pair.post(send)).hasMessageContaining("RTR");
                    near.pair.readyToSend(far.pair.endpoint());
                    far.pair.connect(near.pair.endpoint());
                    far.pair.post(far.pair.receiveRequests(1, 0).receive(1));
                    near.run(send);
                    return true;
                  }
                }))
        .isTrue();
  }

  @Test
  void aFullQueueSaysSoAndTakesMoreOnceItIsPolled() {
    between(
        (near, far) -> {
          SendRequests write =
              near.pair.sendRequests(1, 1).write(near.remote(), 0).fromLong(1).signaled();
          for (int i = 0; i < 8; i++) {
            assertThat(near.pair.post(write)).isTrue();
          }
          assertThat(near.pair.post(write)).isFalse();
          for (int left = 8; left > 0; left -= near.await()) {
            assertThat(near.found.size()).isNotNegative();
          }
          assertThat(near.pair.post(write)).isTrue();

          ReceiveRequests receive = near.pair.receiveRequests(1, 0).receive(1);
          for (int i = 0; i < 8; i++) {
            assertThat(near.pair.post(receive)).isTrue();
          }
          assertThat(near.pair.post(receive)).isFalse();
          assertThat(near.pair.queryState()).isEqualTo(QueuePairState.RTS);
        });
  }

  @Test
  void moreThanTheQueuePairWasMadeForIsRefused() {
    between(
        (near, far) -> {
          assertThatThrownBy(() -> near.pair.sendRequests(1, 5)).hasMessageContaining("0 to 4");
          assertThatThrownBy(() -> near.pair.receiveRequests(1, 5)).hasMessageContaining("0 to 4");
          assertThatThrownBy(() -> near.pair.sendRequests(9, 1)).hasMessageContaining("1 to 8");
          SendRequests chain = near.pair.sendRequests(1, 1);
          chain.write(near.remote(), 0).from(near.region, 0, 8);
          assertThatThrownBy(() -> chain.from(near.region, 0, 8)).hasMessageContaining("1 pieces");
          assertThatThrownBy(() -> chain.write(near.remote(), 0)).hasMessageContaining("full");
          assertThatThrownBy(
                  () ->
                      chain
                          .clear()
                          .write(near.remote(), 0)
                          .from(near.region, 0, near.pair.inlineBytes() + 1L)
                          .inline())
              .hasMessageContaining("inline");
          near.run(chain.clear().write(near.remote(), 0).fromLong(4).signaled());
        });
  }

  @Test
  void piecesOutsideTheirRegionsAreRefused() {
    between(
        (near, far) -> {
          SendRequests chain = near.pair.sendRequests(1, 2);
          assertThatThrownBy(() -> chain.write(near.remote(), 0).from(near.region, 65530, 8))
              .isInstanceOf(IndexOutOfBoundsException.class);
          chain.clear();
          assertThatThrownBy(() -> chain.write(near.remote(), 65537))
              .isInstanceOf(IndexOutOfBoundsException.class);
          chain.clear().write(near.remote(), 65532);
          assertThatThrownBy(() -> chain.from(near.region, 0, 8))
              .isInstanceOf(IndexOutOfBoundsException.class);
          chain.clear();
          assertThatThrownBy(() -> chain.fetchAndAdd(near.remote(), 65536, 1, near.region, 0))
              .isInstanceOf(IndexOutOfBoundsException.class);
        });
  }

  @Test
  void unalignedAtomicsAreRefused() {
    between(
        (near, far) -> {
          SendRequests chain = near.pair.sendRequests(1, 1);
          assertThatThrownBy(() -> chain.fetchAndAdd(near.remote(), 4, 1, near.region, 0))
              .hasMessageContaining("that 8 divides");
          assertThatThrownBy(() -> chain.compareAndSwap(near.remote(), 0, 1, 2, near.region, 1))
              .hasMessageContaining("that 8 divides");
        });
  }

  @Test
  void aReadIntoMemoryThatMayNotBeWrittenIsRefused() {
    between(
        (near, far) -> {
          MemoryRegion readOnly = near.domain.allocate(64, Access.REMOTE_READ);
          SendRequests chain = near.pair.sendRequests(1, 1);
          assertThatThrownBy(() -> chain.read(near.remote(), 0).into(readOnly, 0, 8))
              .hasMessageContaining("LOCAL_WRITE");
          chain.clear();
          assertThatThrownBy(() -> chain.fetchAndAdd(near.remote(), 0, 1, readOnly, 0))
              .hasMessageContaining("LOCAL_WRITE");
          MemoryRegion other =
              near.context.createProtectionDomain().allocate(64, Access.LOCAL_WRITE);
          chain.clear().write(near.remote(), 0);
          assertThatThrownBy(() -> chain.from(other, 0, 8))
              .hasMessageContaining("another protection domain");
        });
  }

  // What the device or the peer refuses

  @Test
  void aWrongLocalKeyEndsTheQueuePair() {
    between(
        (near, far) -> {
          SendRequests chain = near.pair.sendRequests(1, 1).write(near.remote(), 0).signaled();
          chain.addEntry(
              chain.last(), near.region.remote().address(), 8, ~near.region.localKey().value());
          assertThat(end(near, chain)).isIn(LOCAL_FAULTS);
          assertThat(near.pair.failure()).isPresent();
        });
  }

  @Test
  void aWrongLocalKeyInAReceiveEndsBothQueuePairs() {
    between(
        (near, far) -> {
          ReceiveRequests receive = far.pair.receiveRequests(1, 1).receive(3);
          receive.addEntry(
              receive.last(), far.region.remote().address(), 64, ~far.region.localKey().value());
          far.pair.post(receive);
          SendRequests chain = near.pair.sendRequests(1, 1).send().fromLong(1).signaled();
          assertThat(end(near, chain)).isIn(REMOTE_FAULTS);
          far.await();
          assertThat(far.found.status(0)).isIn(LOCAL_FAULTS);
        });
  }

  @Test
  void theKeyOfARegionThatIsClosedOpensNothing() {
    between(
        (near, far) -> {
          MemoryRegion gone = far.domain.allocate(4096, Access.REMOTE_WRITE);
          RemoteRegion remote = gone.remote();
          gone.close();
          SendRequests chain = near.pair.sendRequests(1, 1).write(remote, 0).fromLong(1).signaled();
          assertThat(end(near, chain)).isEqualTo(Status.REM_ACCESS_ERR);
        });
  }

  @Test
  void anAtomicWithAWrongRemoteKeyChangesNothing() {
    between(
        (near, far) -> {
          far.set(0, 5);
          RemoteRegion right = near.remote();
          RemoteRegion wrong =
              new RemoteRegion(
                  right.address(), right.length(), new RemoteKey(right.key().value() ^ 0x100));
          SendRequests chain =
              near.pair.sendRequests(1, 1).fetchAndAdd(wrong, 0, 1, near.region, 0).signaled();
          assertThat(end(near, chain)).isEqualTo(Status.REM_ACCESS_ERR);
          assertThat(far.get(0)).isEqualTo(5);
        });
  }

  @Test
  void aPlaceBeyondTheRemoteRegionIsRefusedByThePeer() {
    between(
        (near, far) -> {
          RemoteRegion right = near.remote();
          RemoteRegion longer =
              new RemoteRegion(right.address(), right.length() + 4096, right.key());
          SendRequests chain =
              near.pair.sendRequests(1, 1).write(longer, right.length() - 4).fromLong(1).signaled();
          assertThat(end(near, chain)).isEqualTo(Status.REM_ACCESS_ERR);
        });
  }

  @Test
  void aRegionGivesNoMoreThanItsAccess() {
    for (String verb : new String[] {"write", "read", "atomic"}) {
      between(
          (near, far) -> {
            Access other = verb.equals("read") ? Access.REMOTE_WRITE : Access.REMOTE_READ;
            RemoteRegion remote = far.domain.allocate(4096, other).remote();
            SendRequests chain = near.pair.sendRequests(1, 1);
            switch (verb) {
              case "write" -> chain.write(remote, 0).fromLong(1);
              case "read" -> chain.read(remote, 0).into(near.region, 0, 8);
              default -> chain.fetchAndAdd(remote, 0, 1, near.region, 0);
            }
            assertThat(end(near, chain.signaled())).as(verb).isEqualTo(Status.REM_ACCESS_ERR);
          });
    }
  }

  @Test
  void aQueuePairGivesNoMoreThanItsAccess() {
    for (String verb : new String[] {"write", "read", "atomic"}) {
      between(
          (near, far) -> {
            far.pair.modify(QueuePairState.RTS, new QueuePairAttributes().access(Set.of()));
            SendRequests chain = near.pair.sendRequests(1, 1);
            switch (verb) {
              case "write" -> chain.write(near.remote(), 0).fromLong(1);
              case "read" -> chain.read(near.remote(), 0).into(near.region, 0, 8);
              default -> chain.fetchAndAdd(near.remote(), 0, 1, near.region, 0);
            }
            assertThat(end(near, chain.signaled()))
                .as(verb)
                .isIn(EnumSet.of(Status.REM_ACCESS_ERR, Status.REM_INV_REQ_ERR));
          });
    }
  }

  @Test
  void aMessageLongerThanItsReceiveEndsBothQueuePairs() {
    between(
        (near, far) -> {
          far.pair.post(far.pair.receiveRequests(1, 1).receive(1).into(far.region, 0, 7));
          SendRequests chain = near.pair.sendRequests(1, 1).send().fromLong(1).signaled();
          assertThat(end(near, chain)).isIn(REMOTE_FAULTS);
          far.await();
          assertThat(far.found.status(0)).isIn(LOCAL_FAULTS);
          assertThat(far.found.id(0)).isEqualTo(1);
        });
  }

  @Test
  void failingFlushesWhatIsOutstanding() {
    between(
        (near, far) -> {
          near.pair.post(near.pair.receiveRequests(2, 0).receive(1).receive(2));
          near.pair.fail();
          int seen = 0;
          while (seen < 2) {
            int size = near.await();
            for (int i = 0; i < size; i++) {
              seen++;
              assertThat(near.found.status(i)).isEqualTo(Status.WR_FLUSH_ERR);
              assertThat(near.found.id(i)).isEqualTo(seen);
            }
          }
          assertThat(near.pair.queryState()).isEqualTo(QueuePairState.ERR);
          assertThatThrownBy(() -> near.pair.post(near.pair.sendRequests(1, 0).send()))
              .hasMessageContaining("failed before");
        });
  }

  // Making, asking and closing

  @Test
  void accessFlagsThatCannotBeAreRefusedByTheDevice() {
    between(
        (near, far) -> {
          assertThat(near.domain.allocate(64, Access.REMOTE_WRITE).allows(Access.LOCAL_WRITE))
              .isTrue();
          Driver driver = near.context.driver();
          MemorySegment memory = near.region.memory();
          for (int flags : new int[] {2, 8, 1 << 19}) {
            assertThatThrownBy(() -> driver.regMr(near.domain.handle(), memory, 4096, flags))
                .as("flags %d", flags)
                .isInstanceOf(Errno.class);
          }
        });
  }

  @Test
  void queuesBeyondTheDeviceAreRefused() {
    between(
        (near, far) -> {
          DeviceAttributes device = near.context.attributes();
          assertThatThrownBy(() -> near.context.createCompletionQueue(device.maxCompletions() + 1))
              .isInstanceOf(IllegalArgumentException.class);
          assertThatThrownBy(
                  () ->
                      near.context
                          .driver()
                          .createCq(
                              near.context.handle(),
                              device.maxCompletions() + 1,
                              MemorySegment.NULL))
              .isInstanceOf(Errno.class)
              .hasMessageContaining("EINVAL");
          assertThatThrownBy(
                  () ->
                      near.domain.createQueuePair(
                          near.path,
                          OPTIONS.withDepths(device.maxRequests() + 1, 1),
                          near.queue,
                          near.queue))
              .hasMessageContaining("send depth");
          assertThatThrownBy(
                  () ->
                      near.domain.createQueuePair(
                          near.path, OPTIONS.withDepths(9, 8), near.queue, near.queue))
              .as("the completion queue is taken by another")
              .hasMessageContaining("do not fit");
          assertThatThrownBy(
                  () ->
                      near.domain.createSharedReceiveQueue(
                          near.queue, device.maxSharedReceives() + 1, 1))
              .hasMessageContaining("depth");
        });
  }

  @Test
  void portsGidsAndPartitionsThatAreNotThereAreRefused() {
    between(
        (near, far) -> {
          Context context = near.context;
          assertThatThrownBy(() -> context.port(2))
              .isInstanceOf(VerbsException.class)
              .hasMessageContaining("port 2");
          assertThat(context.pkey(1, 0)).isEqualTo(0xffff);
          assertThatThrownBy(() -> context.pkey(1, 5000))
              .isInstanceOf(VerbsException.class)
              .hasMessageContaining("place 5000");
          CompletionQueue queue = context.createCompletionQueue(32);
          assertThatThrownBy(
                  () ->
                      near.domain.createQueuePair(
                          near.path, OPTIONS.withPkeyIndex(5000), queue, queue))
              .hasMessageContaining("P_Key index is 5000");
          assertThatThrownBy(() -> Verbs.open(new PathSelector("", 0, 251)))
              .hasMessageContaining("no GID at index 251");
          assertThatThrownBy(() -> Verbs.open(new PathSelector("nope", 0, -1)))
              .hasMessageContaining("another device was asked for");
        });
  }

  @Test
  void deviceAndPortAndGidCanBeChosen() {
    RdmaDevice device = node.device();
    String name = device.name();
    int port = device.port();
    int index = device.gidIndex();
    assertThat(
            node.<Boolean>call(
                () -> {
                  PathChoice choice = Verbs.open(new PathSelector(name, port, index));
                  try (Context context = choice.context()) {
                    return context.name().equals(name)
                        && choice.path().gidIndex() == index
                        && choice.reason().equals("asked for");
                  }
                }))
        .isTrue();
  }

  @Test
  void theDeviceTellsItsLimits() {
    between(
        (near, far) -> {
          DeviceAttributes device = near.context.attributes();
          assertThat(device.maxQueuePairs()).isPositive();
          assertThat(device.ports()).isOne();
          assertThat(device.maxSharedReceives()).isPositive();
          assertThat(near.context.extendedAttributes().capabilities())
              .as("device_cap_flags_ex begins with device_cap_flags")
              .isNotZero();
          assertThat(near.context.gids()).isNotEmpty();
          assertThat(near.context.ports()).hasSize(1);
          assertThat(Verbs.deviceNames()).contains(near.context.name());
        });
  }

  @Test
  void everythingCanBeClosedTwice() {
    between(
        (near, far) -> {
          CompletionQueue queue = near.context.createCompletionQueue(64);
          SharedReceiveQueue shared = near.domain.createSharedReceiveQueue(queue, 8, 1);
          AddressHandle handle =
              near.domain.createAddressHandle(near.path, near.path.gid(), 0, Traffic.DEFAULTS);
          for (AutoCloseable each :
              new AutoCloseable[] {
                near.pair,
                near.region,
                handle,
                shared,
                near.queue,
                queue,
                near.channel,
                near.domain,
                near.context
              }) {
            each.close();
            each.close();
          }
          assertThatThrownBy(near.context::attributes).isInstanceOf(IllegalStateException.class);
          assertThatThrownBy(() -> near.domain.allocate(8, Access.LOCAL_WRITE))
              .isInstanceOf(IllegalStateException.class);
          assertThatThrownBy(() -> near.queue.poll(near.found))
              .isInstanceOf(IllegalStateException.class);
        });
  }

  @Test
  void whatIsInUseIsClosedFirst() {
    between(
        (near, far) -> {
          near.domain.close();
          assertThat(near.pair.isClosed()).isTrue();
          assertThat(near.region.isClosed()).isTrue();
          far.channel.close();
          assertThat(far.queue.isClosed()).isTrue();
          assertThat(far.pair.isClosed()).isTrue();
          assertThat(far.domain.isClosed()).isFalse();
        });
  }

  @Test
  void manyDomainsExistSideBySide() {
    between(
        (near, far) -> {
          for (int i = 0; i < 50; i++) {
            near.context.createProtectionDomain().allocate(64, Access.LOCAL_WRITE);
          }
        });
  }
}
