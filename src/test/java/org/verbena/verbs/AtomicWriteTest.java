package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.verbena.ffi.IbverbsTypes;

/** Atomic writes, which go through the extended queue pair. */
class AtomicWriteTest {
  private final StandIn device = new StandIn();
  private final Loop loop =
      new Loop(device, QueuePairOptions.DEFAULTS.withDepths(2, 2).withInline(8).withAtomicWrite());

  @AfterEach
  void close() {
    loop.close();
  }

  @Test
  void theQueuePairIsMadeForThem() {
    assertThat(device.calls)
        .contains("create_qp_ex " + IbverbsTypes.IBV_QP_EX_WITH_ATOMIC_WRITE(), "qp_to_qp_ex");
  }

  @Test
  void aWordIsWrittenAndCompletes() {
    assertThat(loop.near.postAtomicWrite(loop.remote.remote(), 16, 0x1234, 9)).isTrue();
    assertThat(loop.getRemote(16)).isEqualTo(0x1234);
    assertThat(loop.poll()).isOne();
    assertThat(loop.found.id(0)).isEqualTo(9);
    assertThat(loop.found.opcode(0)).isEqualTo(Opcode.ATOMIC_WRITE);
    assertThat(device.calls).contains("wr_start");
  }

  @Test
  void otherRequestsGoThroughTheSameQueuePair() {
    loop.near.post(loop.near.sendRequests(1, 1).write(loop.remote.remote(), 0).fromLong(1));
    loop.near.postAtomicWrite(loop.remote.remote(), 8, 2, 0);
    assertThat(loop.near.postAtomicWrite(loop.remote.remote(), 8, 3, 0)).as("full").isFalse();
    assertThat(loop.poll()).isOne();
    assertThat(loop.near.freeSends()).isEqualTo(2);
    assertThat(loop.getRemote(0)).isEqualTo(1);
    assertThat(loop.getRemote(8)).isEqualTo(2);
  }

  @Test
  void whatCannotBeIsRefused() {
    RemoteRegion remote = loop.remote.remote();
    assertThatThrownBy(() -> loop.near.postAtomicWrite(remote, 4, 1, 0))
        .hasMessageContaining("that 8 divides");
    assertThatThrownBy(() -> loop.near.postAtomicWrite(remote, 4096, 1, 0))
        .isInstanceOf(IndexOutOfBoundsException.class);
    device.errors.put("wr_complete", Errno.ENOMEM);
    assertThatThrownBy(() -> loop.near.postAtomicWrite(remote, 0, 1, 0))
        .hasMessageContainingAll("ibv_wr_complete", "ENOMEM");
    assertThat(loop.near.freeSends()).isEqualTo(2);
    QueuePair plain =
        loop.domain.createQueuePair(
            device.path(loop.context), QueuePairOptions.DEFAULTS, loop.sendQueue, loop.sendQueue);
    assertThatThrownBy(() -> plain.postAtomicWrite(remote, 0, 1, 0))
        .hasMessageContaining("without atomic writes");
  }

  @Test
  void aDeviceWithoutThemSaysSo() {
    device.errors.put("create_qp_ex 4096", Errno.EOPNOTSUPP);
    assertThatThrownBy(
            () ->
                loop.domain.createQueuePair(
                    device.path(loop.context),
                    QueuePairOptions.DEFAULTS.withAtomicWrite(),
                    loop.sendQueue,
                    loop.sendQueue))
        .hasMessageContainingAll("ibv_create_qp", "EOPNOTSUPP", "atomicWrite=true");
  }
}
