package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.verbena.ffi.IbverbsTypes;

/** Every kind of request: what the device sees, and what it does. */
class OperationTest {
  private final Loop loop =
      new Loop(QueuePairOptions.DEFAULTS.withScatter(4, 4).withInline(64).withDepths(16, 16));
  private final SendRequests chain = loop.near.sendRequests(8, 4);

  @AfterEach
  void close() {
    loop.close();
  }

  private StandIn.Seen lastSeen() {
    return loop.device.seen.getLast();
  }

  @Test
  void aWriteGathersPiecesAndNamesTheRemotePlace() {
    loop.setLocal(0, 11);
    loop.setLocal(64, 22);
    chain
        .write(loop.remote.remote(), 128)
        .from(loop.local, 0, 8)
        .from(loop.local, 64, 8)
        .signaled()
        .id(77);

    assertThat(loop.near.post(chain)).isTrue();

    assertThat(lastSeen().opcode()).isEqualTo(IbverbsTypes.IBV_WR_RDMA_WRITE());
    assertThat(lastSeen().flags()).isEqualTo(IbverbsTypes.IBV_SEND_SIGNALED());
    assertThat(lastSeen().remoteAddress()).isEqualTo(loop.remote.remote().address() + 128);
    assertThat(lastSeen().remoteKey()).isEqualTo(loop.remote.remote().key().value());
    assertThat(lastSeen().pieces())
        .containsExactly(
            new StandIn.Piece(loop.local.memory().address(), 8, loop.local.localKey().value()),
            new StandIn.Piece(
                loop.local.memory().address() + 64, 8, loop.local.localKey().value()));
    assertThat(loop.getRemote(128)).isEqualTo(11);
    assertThat(loop.getRemote(136)).isEqualTo(22);
    assertThat(loop.poll()).isOne();
    assertThat(loop.found.id(0)).isEqualTo(77);
    assertThat(loop.found.opcode(0)).isEqualTo(Opcode.RDMA_WRITE);
    assertThat(loop.found.queuePair(0)).isSameAs(loop.near);
    assertThat(loop.found.isReceive(0)).isFalse();
  }

  @Test
  void aSignalAfterItsDataIsOneChainAndInline() {
    loop.setLocal(0, 5);
    chain.write(loop.remote.remote(), 0).from(loop.local, 0, 8);
    chain.write(loop.remote.remote(), 256).fromLong(0x0000_0007_0000_0003L).signaled();
    loop.near.post(chain);

    assertThat(lastSeen().flags())
        .isEqualTo(IbverbsTypes.IBV_SEND_SIGNALED() | IbverbsTypes.IBV_SEND_INLINE());
    assertThat(loop.getRemote(256)).isEqualTo(0x0000_0007_0000_0003L);

    chain.setLong(1, 99);
    loop.near.post(chain);
    assertThat(loop.getRemote(256)).isEqualTo(99);
    assertThat(loop.device.seen).hasSize(4);
  }

  @Test
  void aWriteWithImmediateTakesAReceive() {
    ReceiveRequests receives = loop.far.receiveRequests(1, 0).receive(5);
    loop.far.post(receives);
    chain.writeWithImmediate(loop.remote.remote(), 8, 0x0102_0304).from(loop.local, 0, 8);
    loop.near.post(chain);

    assertThat(lastSeen().opcode()).isEqualTo(IbverbsTypes.IBV_WR_RDMA_WRITE_WITH_IMM());
    assertThat(lastSeen().immediate()).isEqualTo(StandIn.networkOrder(0x0102_0304));
    assertThat(loop.receiveQueue.poll(loop.found)).isOne();
    assertThat(loop.found.opcode(0)).isEqualTo(Opcode.RECEIVE_RDMA_WITH_IMMEDIATE);
    assertThat(loop.found.isReceive(0)).isTrue();
    assertThat(loop.found.id(0)).isEqualTo(5);
    assertThat(loop.found.immediate(0)).isEqualTo(0x0102_0304);
    assertThat(loop.found.byteLength(0)).isEqualTo(8);
  }

  @Test
  void aMessageGoesIntoThePiecesOfAReceive() {
    loop.setLocal(0, 1);
    loop.setLocal(8, 2);
    loop.far.post(
        loop.far
            .receiveRequests(1, 2)
            .receive(9)
            .into(loop.remote, 0, 8)
            .into(loop.remote, 512, 32));
    chain.send().from(loop.local, 0, 16).solicited().signaled();
    loop.near.post(chain);

    assertThat(lastSeen().opcode()).isEqualTo(IbverbsTypes.IBV_WR_SEND());
    assertThat(lastSeen().flags())
        .isEqualTo(IbverbsTypes.IBV_SEND_SIGNALED() | IbverbsTypes.IBV_SEND_SOLICITED());
    assertThat(loop.receiveQueue.poll(loop.found)).isOne();
    assertThat(loop.found.byteLength(0)).isEqualTo(16);
    assertThat(loop.found.hasImmediate(0)).isFalse();
    assertThatThrownBy(() -> loop.found.immediate(0)).isInstanceOf(IllegalStateException.class);
    assertThat(loop.getRemote(0)).isEqualTo(1);
    assertThat(loop.getRemote(512)).isEqualTo(2);
  }

  @Test
  void aMessageBringsAnImmediateValueOfZeroToo() {
    loop.far.post(loop.far.receiveRequests(1, 1).receive(1).into(loop.remote, 0, 64));
    loop.near.post(chain.sendWithImmediate(0));

    assertThat(loop.receiveQueue.poll(loop.found)).isOne();
    assertThat(loop.found.hasImmediate(0)).isTrue();
    assertThat(loop.found.immediate(0)).isZero();
  }

  @Test
  void aReadComesIntoLocalMemory() {
    loop.setRemote(40, 1234);
    loop.near.post(chain.read(loop.remote.remote(), 40).into(loop.local, 16, 8).signaled());

    assertThat(lastSeen().opcode()).isEqualTo(IbverbsTypes.IBV_WR_RDMA_READ());
    assertThat(loop.getLocal(16)).isEqualTo(1234);
    assertThat(loop.poll()).isOne();
    assertThat(loop.found.opcode(0)).isEqualTo(Opcode.RDMA_READ);
  }

  @Test
  void compareAndSwapSwapsOnlyWhatItExpects() {
    loop.setRemote(8, 3);
    RemoteRegion remote = loop.remote.remote();
    loop.near.post(chain.compareAndSwap(remote, 8, 3, 4, loop.local, 0).fence().signaled());
    assertThat(lastSeen().opcode()).isEqualTo(IbverbsTypes.IBV_WR_ATOMIC_CMP_AND_SWP());
    assertThat(lastSeen().flags())
        .isEqualTo(IbverbsTypes.IBV_SEND_SIGNALED() | IbverbsTypes.IBV_SEND_FENCE());
    assertThat(lastSeen().operand()).isEqualTo(3);
    assertThat(lastSeen().swap()).isEqualTo(4);
    assertThat(lastSeen().atomicKey()).isEqualTo(remote.key().value());
    assertThat(loop.getRemote(8)).isEqualTo(4);
    assertThat(loop.getLocal(0)).isEqualTo(3);

    loop.near.post(chain.clear().compareAndSwap(remote, 8, 3, 5, loop.local, 0).signaled());
    assertThat(loop.getRemote(8)).isEqualTo(4);
    assertThat(loop.getLocal(0)).isEqualTo(4);
  }

  @Test
  void fetchAndAddAddsSixtyFourBits() {
    loop.setRemote(16, 0xffff_ffffL);
    loop.near.post(chain.fetchAndAdd(loop.remote.remote(), 16, 1, loop.local, 24).signaled());

    assertThat(lastSeen().opcode()).isEqualTo(IbverbsTypes.IBV_WR_ATOMIC_FETCH_AND_ADD());
    assertThat(loop.getRemote(16)).isEqualTo(0x1_0000_0000L);
    assertThat(loop.getLocal(24)).isEqualTo(0xffff_ffffL);
  }

  @Test
  void whatLiesOutsideOfEitherRegionIsRefused() {
    RemoteRegion remote = loop.remote.remote();
    assertThatThrownBy(() -> chain.clear().write(remote, 4090).from(loop.local, 0, 8))
        .isInstanceOf(IndexOutOfBoundsException.class)
        .hasMessageContaining("6 from here");
    assertThatThrownBy(() -> chain.clear().write(remote, 0).from(loop.local, 4090, 8))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> chain.clear().write(remote, -1))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> chain.clear().write(remote, 0).from(loop.local, -8, 8))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> chain.clear().write(remote, 0).from(loop.local, 0, -1))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(
            () -> chain.clear().write(remote, 4080).from(loop.local, 0, 8).from(loop.local, 0, 16))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> chain.clear().fetchAndAdd(remote, 4092, 1, loop.local, 0))
        .isInstanceOf(IndexOutOfBoundsException.class);
  }

  @Test
  void whatDoesNotFitTogetherIsRefused() {
    RemoteRegion remote = loop.remote.remote();
    assertThatThrownBy(() -> chain.clear().fetchAndAdd(remote, 4, 1, loop.local, 0))
        .hasMessageContaining("8 divides");
    assertThatThrownBy(() -> chain.clear().read(remote, 0).from(loop.local, 0, 8))
        .isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> chain.clear().write(remote, 0).into(loop.local, 0, 8))
        .isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> chain.clear().read(remote, 0).inline())
        .isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> chain.clear().write(remote, 0).from(loop.local, 0, 65).inline())
        .hasMessageContaining("65 bytes inline; the queue pair takes at most 64");
    assertThatThrownBy(() -> chain.clear().write(remote, 0).inline().from(loop.local, 0, 65))
        .hasMessageContaining("at most 64");
    assertThatThrownBy(() -> chain.clear().signaled()).isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> loop.near.post(chain.clear())).hasMessageContaining("empty");
    assertThatThrownBy(() -> loop.far.post(chain.clear().send()))
        .hasMessageContaining("was made for queue pair 0x000011");
    assertThat(loop.device.seen).isEmpty();
  }

  @Test
  void aRegionThatDoesNotAllowItIsRefused() {
    MemoryRegion readOnly = loop.domain.allocate(64, Access.REMOTE_READ);
    assertThatThrownBy(() -> chain.read(loop.remote.remote(), 0).into(readOnly, 0, 8))
        .hasMessageContaining("LOCAL_WRITE");
    assertThatThrownBy(() -> loop.near.receiveRequests(1, 1).receive(0).into(readOnly, 0, 8))
        .hasMessageContaining("LOCAL_WRITE");
    ProtectionDomain other = loop.context.createProtectionDomain();
    MemoryRegion foreign = other.allocate(64, Access.LOCAL_WRITE);
    assertThatThrownBy(() -> chain.clear().send().from(foreign, 0, 8))
        .hasMessageContaining("another protection domain");
  }

  @Test
  void aMessageLongerThanThePortTakesIsRefused() {
    try (Arena arena = Arena.ofConfined()) {
      long half = 1L << 22;
      MemoryRegion large = loop.domain.register(arena.allocate(half + 8, 8));
      chain.send().from(large, 0, half).from(large, 0, half);
      assertThatThrownBy(() -> chain.from(large, 0, 1)).hasMessageContaining("8388609 bytes");
      large.close();
    }
  }

  @Test
  void offsetsBeyondFourGigabytesAreNotCut() {
    long far = (1L << 32) + 8;
    RemoteRegion remote = new RemoteRegion(0x7000_0000_0000L, far + 64, loop.remote.remote().key());
    loop.near.post(chain.write(remote, far).from(loop.local, 0, 8).signaled());

    assertThat(lastSeen().remoteAddress()).isEqualTo(0x7000_0000_0000L + far);
    assertThat(loop.poll()).isOne();
    assertThat(loop.found.status(0)).isEqualTo(Status.REM_ACCESS_ERR);
  }

  @Test
  void aFullChainIsRefused() {
    for (int i = 0; i < 8; i++) {
      chain.send();
    }
    assertThatThrownBy(chain::send).hasMessageContaining("full with 8");
    chain.clear().send();
    for (int i = 0; i < 4; i++) {
      chain.from(loop.local, 0, 1);
    }
    assertThatThrownBy(() -> chain.from(loop.local, 0, 1)).hasMessageContaining("at most 4");
  }

  @Test
  void aChainIsPostedAsOneListAndRebuiltWithoutRemains() {
    RemoteRegion remote = loop.remote.remote();
    chain.write(remote, 0).from(loop.local, 0, 8).fence().signaled().id(3);
    chain.read(remote, 0).into(loop.local, 0, 8);
    loop.near.post(chain);
    chain.clear().write(remote, 8);
    loop.near.post(chain);

    assertThat(loop.device.seen).hasSize(3);
    assertThat(lastSeen().flags()).isZero();
    assertThat(lastSeen().pieces()).isEqualTo(List.of());
  }
}
