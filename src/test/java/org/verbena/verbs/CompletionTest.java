package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.verbena.ffi.IbverbsTypes;

/** Completions with errors, lost ones, and such as belong to no request. */
class CompletionTest {
  private final Loop loop = new Loop(QueuePairOptions.DEFAULTS.withDepths(8, 8).withInline(8));
  private final SendRequests chain = loop.near.sendRequests(4, 1);

  @AfterEach
  void close() {
    loop.close();
  }

  private RemoteRegion wrongKey() {
    RemoteRegion right = loop.remote.remote();
    return new RemoteRegion(right.address(), right.length(), new RemoteKey(1));
  }

  @Test
  void anErrorNamesStatusRequestQueuePairAndVendorCodeAndNothingElseIsRead() {
    loop.near.post(chain.write(wrongKey(), 0).fromLong(1).id(31));

    assertThat(loop.poll()).as("also of an unsignaled request").isOne();
    assertThat(loop.found.status(0)).isEqualTo(Status.REM_ACCESS_ERR);
    assertThat(loop.found.id(0)).isEqualTo(31);
    assertThat(loop.found.isReceive(0)).isFalse();
    assertThatThrownBy(() -> loop.found.opcode(0)).isInstanceOf(WorkCompletionException.class);
    assertThatThrownBy(() -> loop.found.byteLength(0)).isInstanceOf(WorkCompletionException.class);
    assertThatThrownBy(() -> loop.found.requireSuccess(0))
        .isInstanceOfSatisfying(
            WorkCompletionException.class,
            e -> {
              assertThat(e.status()).isEqualTo(Status.REM_ACCESS_ERR);
              assertThat(e.requestId()).isEqualTo(31);
              assertThat(e.queuePair()).isEqualTo(loop.near.number());
              assertThat(e.vendorCode()).isEqualTo(0x77);
            })
        .hasMessageContainingAll(
            "fake0", "send request 31", "0x000011", "REM_ACCESS_ERR", "vendor code 0x77");
  }

  @Test
  void afterTheFirstErrorPostsFailAtOnceWithIt() {
    loop.near.post(chain.write(wrongKey(), 0).fromLong(1).id(31));
    loop.poll();
    int posted = loop.device.seen.size();

    assertThatThrownBy(() -> loop.near.post(chain))
        .isInstanceOf(VerbsException.class)
        .hasMessageContaining("REM_ACCESS_ERR")
        .hasCauseInstanceOf(WorkCompletionException.class);
    assertThat(loop.device.seen).hasSize(posted);
    assertThat(loop.near.state()).isEqualTo(QueuePairState.ERR);
    assertThat(loop.near.failure()).isPresent();
  }

  private void reconnect() {
    Endpoint near = loop.near.endpoint();
    Endpoint far = loop.far.endpoint();
    loop.near.reset();
    loop.far.reset();
    loop.near.connect(far);
    loop.far.connect(near);
  }

  @Test
  void aFailedQueuePairIsResetAndUsedAgain() {
    loop.near.post(chain.write(wrongKey(), 0).fromLong(1).id(31));
    loop.poll();
    loop.near.reset();
    assertThat(loop.near.failure()).isEmpty();
    assertThatThrownBy(() -> loop.near.post(chain)).hasMessageContaining("is in RESET");
    assertThatThrownBy(loop.near::reset).hasMessageContaining("from RESET to RESET");
    loop.near.initialize();
    reconnect();

    chain.clear().write(loop.remote.remote(), 0).fromLong(5).signaled().id(32);
    assertThat(loop.near.post(chain)).isTrue();
    assertThat(loop.poll()).isOne();
    loop.found.requireSuccess(0);
    assertThat(loop.found.id(0)).isEqualTo(32);
    assertThat(loop.getRemote(0)).isEqualTo(5);
    assertThat(loop.near.freeSends()).isEqualTo(8);
  }

  @Test
  void whatIsToldOfATimeBeforeAResetIsDropped() {
    loop.device.holdCompletions = true;
    loop.near.post(chain.write(wrongKey(), 0).fromLong(1).id(31));
    loop.near.fail();
    reconnect();
    loop.device.holdCompletions = false;

    assertThat(loop.poll()).isZero();
    assertThat(loop.near.failure()).isEmpty();
    assertThat(loop.near.state()).isEqualTo(QueuePairState.RTS);
    assertThat(loop.near.freeSends()).isEqualTo(8);
  }

  @Test
  void theFirstErrorOfSeveralIsKept() {
    chain.write(wrongKey(), 0).fromLong(1).id(1);
    chain.write(loop.remote.remote(), 0).fromLong(1).id(2);
    chain.write(loop.remote.remote(), 0).fromLong(1).id(3);
    loop.near.post(chain);

    assertThat(loop.poll()).isEqualTo(3);
    assertThat(loop.found.status(0)).isEqualTo(Status.REM_ACCESS_ERR);
    assertThat(loop.found.status(1)).isEqualTo(Status.WR_FLUSH_ERR);
    assertThat(loop.found.id(2)).isEqualTo(3);
    assertThat(loop.near.failure().orElseThrow()).hasMessageContaining("request 1 ");
    assertThat(loop.near.freeSends()).isEqualTo(8);
  }

  @Test
  void aCompletionOfNoRequestIsAnErrorAndTheOthersAreKept() {
    loop.device.addCompletion(
        loop.sendQueue.handle(), loop.device.completion(0xdead_beefL, 0, 0x1234));
    loop.near.post(chain.write(loop.remote.remote(), 0).fromLong(1).signaled().id(6));

    assertThatThrownBy(loop::poll)
        .isInstanceOf(VerbsException.class)
        .hasMessageContainingAll("0xdeadbeef", "0x001234", "no outstanding request");
    assertThat(loop.found.size()).isOne();
    assertThat(loop.found.id(0)).isEqualTo(6);
  }

  @Test
  void aRequestThatIsNotOutstandingIsAnError() {
    loop.near.post(chain.write(loop.remote.remote(), 0).fromLong(1).signaled());
    long id = loop.device.seen.getLast().id();
    loop.poll();
    int tag = RequestId.tag(id);
    int next = RequestId.tag(RequestId.place(tag) + 1, RequestId.generation(tag));
    long ofReceives = RequestId.id(next, RequestId.number(id));
    for (long wrong : new long[] {id, id + 1, ofReceives}) {
      loop.device.addCompletion(
          loop.sendQueue.handle(), loop.device.completion(wrong, 0, loop.near.number()));
      assertThatThrownBy(loop::poll).hasMessageContaining("no outstanding request");
    }
    assertThat(loop.near.freeSends()).isEqualTo(8);
  }

  @Test
  void aHiddenCompletionLetsNoOldOneThrough() {
    chain.write(loop.remote.remote(), 0).fromLong(1).signaled();
    loop.near.post(chain);
    loop.poll();
    long old = loop.device.seen.getLast().id();
    SendRequests unsignaled = loop.near.sendRequests(1, 1);
    unsignaled.write(loop.remote.remote(), 0).fromLong(1);
    for (int i = 0; i < 5; i++) {
      loop.near.post(unsignaled);
    }
    assertThat(loop.poll()).isZero();
    assertThat(loop.near.freeSends()).as("one was signaled to free slots").isEqualTo(8);

    loop.device.addCompletion(
        loop.sendQueue.handle(), loop.device.completion(old, 0, loop.near.number()));
    loop.near.post(chain);
    assertThatThrownBy(loop::poll).hasMessageContaining("no outstanding request");
    assertThat(loop.found.size()).isOne();
    assertThat(loop.near.freeSends()).isEqualTo(8);
  }

  @Test
  void completionsOfSeveralQueuesInOnePollAreTheirs() {
    QueuePair other =
        loop.domain.createQueuePair(
            loop.near.path(),
            QueuePairOptions.DEFAULTS.withInline(8),
            loop.sendQueue,
            loop.sendQueue);
    other.connect(loop.far.endpoint());
    SendRequests wrong = other.sendRequests(1, 1);
    wrong.write(wrongKey(), 0).fromLong(1).id(50);
    chain.write(loop.remote.remote(), 0).fromLong(1).signaled().id(1);
    loop.near.post(chain);
    assertThat(loop.poll()).isOne();

    // Twice the queue that completed last, once another, with an error, and the first again.
    loop.near.post(chain);
    loop.near.post(chain.clear().write(loop.remote.remote(), 0).fromLong(1).signaled().id(2));
    other.post(wrong);
    loop.near.post(chain.clear().write(loop.remote.remote(), 0).fromLong(1).signaled().id(3));
    assertThat(loop.poll()).isEqualTo(4);
    assertThat(Stream.of(0, 1, 2, 3).map(loop.found::id)).containsExactly(1L, 2L, 50L, 3L);
    assertThat(Stream.of(0, 1, 2, 3).map(loop.found::queuePair))
        .containsExactly(loop.near, loop.near, other, loop.near);
    assertThat(loop.found.status(2)).isEqualTo(Status.REM_ACCESS_ERR);
    assertThat(other.failure()).isPresent();
    assertThat(loop.near.failure()).isEmpty();
    assertThat(loop.near.freeSends()).isEqualTo(8);
  }

  @Test
  void oneTableServesSeveralCompletionQueues() {
    ReceiveRequests receive = loop.far.receiveRequests(1, 0).receive(2);
    for (int i = 0; i < 3; i++) {
      loop.near.post(chain.clear().write(loop.remote.remote(), 0).fromLong(1).signaled());
      loop.far.post(receive);
      assertThat(loop.poll()).isOne();
      assertThat(loop.found.queuePair(0)).isSameAs(loop.near);
      assertThat(loop.found.isReceive(0)).isFalse();
      loop.near.post(chain.clear().writeWithImmediate(loop.remote.remote(), 0, 9).signaled().id(1));
      assertThat(loop.receiveQueue.poll(loop.found)).isOne();
      assertThat(loop.found.queuePair(0)).isSameAs(loop.far);
      assertThat(loop.found.isReceive(0)).isTrue();
      assertThat(loop.found.id(0)).isEqualTo(2);
      assertThat(loop.found.immediate(0)).isEqualTo(9);
      assertThat(loop.poll()).isOne();
      assertThat(loop.found.id(0)).isEqualTo(1);
    }
  }

  @Test
  void whatIsLeftOfAQueuePairThatCompletedLastIsDroppedOnceItIsClosed() {
    chain.write(loop.remote.remote(), 0).fromLong(1).signaled();
    loop.near.post(chain);
    assertThat(loop.poll()).isOne();
    loop.device.holdCompletions = true;
    loop.near.post(chain);
    loop.near.close();
    loop.device.holdCompletions = false;

    assertThat(loop.poll()).isZero();
  }

  @Test
  void whatIsLeftOfAClosedQueuePairIsDropped() {
    loop.device.holdCompletions = true;
    loop.near.post(chain.write(loop.remote.remote(), 0).fromLong(1).signaled());
    loop.near.close();
    QueuePair next =
        loop.domain.createQueuePair(
            loop.near.path(), QueuePairOptions.DEFAULTS, loop.sendQueue, loop.sendQueue);
    loop.device.holdCompletions = false;

    assertThat(loop.poll()).isZero();
    assertThat(next.freeSends()).isEqualTo(128);
  }

  @Test
  void closingDoesNotWaitForLostFlushCompletions() {
    loop.device.holdCompletions = true;
    loop.device.dropFlushes = true;
    loop.far.post(loop.far.receiveRequests(1, 0).receive(1));
    loop.near.post(chain.write(loop.remote.remote(), 0).fromLong(1));

    loop.close();

    assertThat(loop.device.calls).contains("destroy_qp", "close_device");
  }

  @Test
  void flushedReceivesAreShown() {
    loop.far.post(loop.far.receiveRequests(2, 0).receive(7).receive(8));
    loop.far.fail();

    assertThat(loop.receiveQueue.poll(loop.found)).isEqualTo(2);
    assertThat(loop.found.status(1)).isEqualTo(Status.WR_FLUSH_ERR);
    assertThat(loop.found.isReceive(1)).isTrue();
    assertThat(loop.found.id(1)).isEqualTo(8);
  }

  @Test
  void aMissingReceiveIsReported() {
    loop.near.post(chain.send().fromLong(1));
    loop.poll();
    assertThat(loop.found.status(0)).isEqualTo(Status.RNR_RETRY_EXC_ERR);
  }

  @Test
  void aFailingPollIsAnError() {
    loop.device.errors.put("poll_cq", 5);
    assertThatThrownBy(loop::poll)
        .isInstanceOfSatisfying(VerbsException.class, e -> assertThat(e.errno()).isEqualTo(5))
        .hasMessageContaining("EIO");
  }

  @Test
  void aPollTakesNoMoreThanFits() {
    for (int i = 0; i < 4; i++) {
      chain.write(loop.remote.remote(), 0).fromLong(i).signaled().id(i);
    }
    loop.near.post(chain);
    Completions three = new Completions(3);
    assertThat(loop.sendQueue.poll(three)).isEqualTo(3);
    assertThat(loop.sendQueue.poll(three)).isOne();
    assertThat(three.id(0)).isEqualTo(3);
    assertThatThrownBy(() -> three.id(1)).isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> new Completions(0)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void everyStatusHasItsNumber() {
    assertThat(Status.of(IbverbsTypes.IBV_WC_SUCCESS())).isEqualTo(Status.SUCCESS);
    assertThat(Status.of(IbverbsTypes.IBV_WC_LOC_LEN_ERR())).isEqualTo(Status.LOC_LEN_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_LOC_QP_OP_ERR())).isEqualTo(Status.LOC_QP_OP_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_LOC_EEC_OP_ERR())).isEqualTo(Status.LOC_EEC_OP_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_LOC_PROT_ERR())).isEqualTo(Status.LOC_PROT_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_WR_FLUSH_ERR())).isEqualTo(Status.WR_FLUSH_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_MW_BIND_ERR())).isEqualTo(Status.MW_BIND_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_BAD_RESP_ERR())).isEqualTo(Status.BAD_RESP_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_LOC_ACCESS_ERR())).isEqualTo(Status.LOC_ACCESS_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_REM_INV_REQ_ERR())).isEqualTo(Status.REM_INV_REQ_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_REM_ACCESS_ERR())).isEqualTo(Status.REM_ACCESS_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_REM_OP_ERR())).isEqualTo(Status.REM_OP_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_RETRY_EXC_ERR())).isEqualTo(Status.RETRY_EXC_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_RNR_RETRY_EXC_ERR()))
        .isEqualTo(Status.RNR_RETRY_EXC_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_LOC_RDD_VIOL_ERR()))
        .isEqualTo(Status.LOC_RDD_VIOL_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_REM_INV_RD_REQ_ERR()))
        .isEqualTo(Status.REM_INV_RD_REQ_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_REM_ABORT_ERR())).isEqualTo(Status.REM_ABORT_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_INV_EECN_ERR())).isEqualTo(Status.INV_EECN_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_INV_EEC_STATE_ERR()))
        .isEqualTo(Status.INV_EEC_STATE_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_FATAL_ERR())).isEqualTo(Status.FATAL_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_RESP_TIMEOUT_ERR()))
        .isEqualTo(Status.RESP_TIMEOUT_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_GENERAL_ERR())).isEqualTo(Status.GENERAL_ERR);
    assertThat(Status.of(IbverbsTypes.IBV_WC_GENERAL_ERR() + 1)).isEqualTo(Status.UNKNOWN);
    assertThat(Status.of(-1)).isEqualTo(Status.UNKNOWN);
  }

  @Test
  void everyOpcodeHasItsNumber() {
    assertThat(Opcode.of(IbverbsTypes.IBV_WC_SEND())).isEqualTo(Opcode.SEND);
    assertThat(Opcode.of(IbverbsTypes.IBV_WC_RDMA_WRITE())).isEqualTo(Opcode.RDMA_WRITE);
    assertThat(Opcode.of(IbverbsTypes.IBV_WC_RDMA_READ())).isEqualTo(Opcode.RDMA_READ);
    assertThat(Opcode.of(IbverbsTypes.IBV_WC_COMP_SWAP())).isEqualTo(Opcode.COMPARE_AND_SWAP);
    assertThat(Opcode.of(IbverbsTypes.IBV_WC_FETCH_ADD())).isEqualTo(Opcode.FETCH_AND_ADD);
    assertThat(Opcode.of(IbverbsTypes.IBV_WC_ATOMIC_WRITE())).isEqualTo(Opcode.ATOMIC_WRITE);
    assertThat(Opcode.of(IbverbsTypes.IBV_WC_RECV())).isEqualTo(Opcode.RECEIVE);
    assertThat(Opcode.of(IbverbsTypes.IBV_WC_RECV_RDMA_WITH_IMM()))
        .isEqualTo(Opcode.RECEIVE_RDMA_WITH_IMMEDIATE);
    assertThat(Opcode.of(77)).isEqualTo(Opcode.OTHER);
  }
}
