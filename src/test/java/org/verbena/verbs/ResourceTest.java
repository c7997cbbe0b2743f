package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Lifetimes: order of closing, use after it, closing under traffic; memory regions. */
@SuppressWarnings("restricted")
@Timeout(60)
class ResourceTest {
  @Test
  void closingTheDeviceClosesEverythingQueuePairsFirst() {
    Loop loop = new Loop(QueuePairOptions.DEFAULTS);
    loop.device.calls.clear();
    loop.close();
    assertThat(loop.device.calls)
        .containsExactly(
            "modify_qp 6",
            "destroy_qp",
            "modify_qp 6",
            "destroy_qp",
            "dereg_mr",
            "dereg_mr",
            "dealloc_pd",
            "destroy_cq",
            "destroy_cq",
            "close_device");
    loop.close();
    assertThat(loop.device.calls).hasSize(10);
  }

  @Test
  void closingACompletionQueueClosesItsQueuePairs() {
    try (Loop loop = new Loop(QueuePairOptions.DEFAULTS)) {
      loop.sendQueue.close();
      assertThat(loop.near.isClosed()).isTrue();
      assertThat(loop.far.isClosed()).isFalse();
    }
  }

  @Test
  void everyUseAfterCloseThrows() {
    Loop loop = new Loop(QueuePairOptions.DEFAULTS.withInline(8));
    SendRequests sends = loop.near.sendRequests(1, 1).write(loop.remote.remote(), 0).fromLong(1);
    ReceiveRequests receives = loop.far.receiveRequests(1, 0).receive(1);
    Endpoint endpoint = loop.far.endpoint();
    loop.close();

    List<Runnable> uses =
        List.of(
            () -> loop.near.post(sends),
            () -> loop.far.post(receives),
            loop::poll,
            () -> loop.sendQueue.requestNotification(false),
            () -> loop.near.connect(endpoint),
            loop.near::queryState,
            loop.near::fail,
            () -> loop.domain.allocate(8),
            loop.context::createProtectionDomain,
            loop.context::attributes,
            loop.context::gids,
            loop.context::createCompletionChannel,
            () -> loop.context.createCompletionQueue(1),
            () -> loop.local.memory().get(ValueLayout.JAVA_LONG, 0),
            () -> sends.clear().send().from(loop.local, 0, 8));
    for (Runnable use : uses) {
      assertThatThrownBy(use::run).isInstanceOf(IllegalStateException.class);
    }
  }

  /**
   * The stand-in throws in an upcall, which ends the JVM, if it is called after it was destroyed.
   */
  @RepeatedTest(20)
  void closingUnderTrafficEndsItCleanly() throws InterruptedException {
    Loop loop = new Loop(QueuePairOptions.DEFAULTS.withInline(8).withDepths(16, 16));
    SendRequests chain =
        loop.near.sendRequests(1, 1).write(loop.remote.remote(), 0).fromLong(1).signaled();
    CountDownLatch running = new CountDownLatch(200);
    AtomicReference<Throwable> ended = new AtomicReference<>();
    Thread traffic =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    while (true) {
                      loop.near.post(chain);
                      loop.poll();
                      running.countDown();
                    }
                  } catch (Throwable e) {
                    ended.set(e);
                  }
                });
    assertThat(running.await(30, TimeUnit.SECONDS)).isTrue();
    loop.close();
    traffic.join(30_000);
    assertThat(traffic.isAlive()).isFalse();
    assertThat(ended.get()).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void aCallThatDoesNotReturnKeepsEverythingFromBeingDestroyed() throws InterruptedException {
    Loop loop = new Loop(QueuePairOptions.DEFAULTS.withInline(8));
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch mayLeave = new CountDownLatch(1);
    loop.device.callLimit = Duration.ofMillis(50);
    loop.device.postResult =
        _ -> {
          inside.countDown();
          return await(mayLeave);
        };
    SendRequests chain = loop.near.sendRequests(1, 1).write(loop.remote.remote(), 0).fromLong(1);
    Thread poster = Thread.ofPlatform().start(() -> loop.near.post(chain));
    assertThat(inside.await(30, TimeUnit.SECONDS)).isTrue();
    loop.device.calls.clear();

    assertThatThrownBy(loop::close)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContainingAll("queue pair 0x000011", "ibv_post_send", "50 ms");
    assertThat(loop.device.calls).isEmpty();
    assertThatThrownBy(loop::poll).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(loop.near::queryState).hasMessageContaining("is closed");

    mayLeave.countDown();
    poster.join(30_000);
    loop.close();
    assertThat(loop.device.calls).contains("destroy_qp", "dealloc_pd", "close_device");
  }

  /** For an upcall, which must not throw. */
  private static int await(CountDownLatch latch) {
    try {
      return latch.await(30, TimeUnit.SECONDS) ? 0 : Errno.EINTR;
    } catch (InterruptedException e) {
      return Errno.EINTR;
    }
  }

  @Test
  void aQueuePairThatCannotBeUsedIsDestroyed() {
    try (Loop loop = new Loop(QueuePairOptions.DEFAULTS)) {
      loop.device.errors.put("qp_to_qp_ex", Errno.EINVAL);
      loop.device.calls.clear();
      assertThatThrownBy(
              () ->
                  loop.domain.createQueuePair(
                      loop.near.path(),
                      QueuePairOptions.DEFAULTS.withAtomicWrite(),
                      loop.sendQueue,
                      loop.sendQueue))
          .isInstanceOf(VerbsException.class)
          .hasMessageContainingAll("ibv_qp_to_qp_ex", "EINVAL");
      assertThat(loop.device.calls).last().isEqualTo("destroy_qp");
    }
  }

  @Test
  void aFailingStepDoesNotKeepTheOthersFromClosing() {
    Loop loop = new Loop(QueuePairOptions.DEFAULTS);
    loop.device.errors.put("dereg_mr", 16);
    assertThatThrownBy(loop::close)
        .isInstanceOf(VerbsException.class)
        .hasMessageContaining("EBUSY");
    assertThat(loop.device.calls).contains("close_device");
    assertThat(loop.local.memory().get(ValueLayout.JAVA_LONG, 0))
        .as("memory that the device may still reach is kept")
        .isZero();
  }

  @Test
  void allocatedMemoryHasPagesOfItsOwn() {
    try (Loop loop = new Loop(QueuePairOptions.DEFAULTS)) {
      MemoryRegion one = loop.domain.allocate(100, Access.LOCAL_WRITE);
      MemoryRegion two = loop.domain.allocate(100, Access.LOCAL_WRITE);
      assertThat(one.memory().address() % 4096).isZero();
      assertThat(two.memory().address() % 4096).isZero();
      assertThat(one.length()).isEqualTo(100);
      assertThat(one.remote().length()).isEqualTo(100);
    }
  }

  @Test
  void accessIsCompletedWithWhatItImplies() {
    try (Loop loop = new Loop(QueuePairOptions.DEFAULTS)) {
      assertThat(access(loop, Access.REMOTE_WRITE)).isEqualTo(1 | 2);
      assertThat(access(loop, Access.REMOTE_ATOMIC)).isEqualTo(1 | 8);
      assertThat(access(loop, Access.REMOTE_READ)).isEqualTo(4);
      assertThat(access(loop)).isZero();
      assertThat(access(loop, Access.RELAXED_ORDERING, Access.LOCAL_WRITE)).isEqualTo(1 | 1 << 20);
      MemoryRegion region = loop.domain.allocate(8, Access.REMOTE_WRITE);
      assertThat(region.allows(Access.LOCAL_WRITE)).isTrue();
      assertThat(region.allows(Access.REMOTE_READ)).isFalse();
    }
  }

  private static int access(Loop loop, Access... access) {
    return loop.device.accessOf(loop.domain.allocate(8, access).remote().key());
  }

  @Test
  void aRegistrationThatFailsNamesBytesAndTheLimitOfLockedMemory() {
    try (Loop loop = new Loop(QueuePairOptions.DEFAULTS)) {
      loop.device.errors.put("reg_mr", Errno.ENOMEM);
      assertThatThrownBy(() -> loop.domain.allocate(1 << 20, Access.REMOTE_WRITE))
          .isInstanceOf(VerbsException.class)
          .hasMessageContainingAll(
              "ENOMEM", "1048576 bytes", MemoryLock.limit(), "ulimit -l", "memlock=-1");
      assertThat(MemoryLock.limit()).matches("unlimited|[0-9]+ bytes");
    }
  }

  @Test
  void memoryThatCannotBeRegisteredIsRefused() {
    try (Loop loop = new Loop(QueuePairOptions.DEFAULTS);
        Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(8);
      assertThatThrownBy(() -> loop.domain.register(MemorySegment.ofArray(new byte[8])))
          .hasMessageContaining("native memory");
      assertThatThrownBy(() -> loop.domain.register(memory.asReadOnly(), Access.REMOTE_WRITE))
          .hasMessageContaining("read-only");
      loop.domain.register(memory.asReadOnly()).close();
      assertThatThrownBy(() -> loop.domain.register(memory.asSlice(0, 0)))
          .hasMessageContaining("1 byte or more");
      assertThatThrownBy(() -> loop.domain.allocate(0)).hasMessageContaining("not 0");
      assertThatThrownBy(
              () -> loop.domain.register(MemorySegment.ofAddress(4096).reinterpret(1L << 41)))
          .hasMessageContainingAll("1099511627776", "2199023255552");
    }
  }

  @Test
  void aRemoteRegionSurvivesItsEncodingAndDoesNotWrap() {
    RemoteRegion region = new RemoteRegion(0xffff_8000_0000_1000L, 1L << 33, new RemoteKey(-2));
    assertThat(region.encode()).hasSize(RemoteRegion.BYTES);
    assertThat(RemoteRegion.decode(ByteBuffer.wrap(region.encode()))).isEqualTo(region);
    assertThatThrownBy(() -> new RemoteRegion(-16, 32, new RemoteKey(1)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new RemoteRegion(0, -1, new RemoteKey(1)))
        .isInstanceOf(IllegalArgumentException.class);
    assertThat(new RemoteRegion(-16, 16, new RemoteKey(1)).length()).isEqualTo(16);
    assertThatThrownBy(() -> RemoteRegion.decode(ByteBuffer.allocate(19)))
        .isInstanceOf(IllegalArgumentException.class);
  }
}
