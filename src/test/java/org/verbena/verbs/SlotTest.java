package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.ffi.IbverbsTypes;

/** Slots of send and receive queues: never too many outstanding, none lost. */
class SlotTest {
  private static QueuePairOptions depth(int depth) {
    return QueuePairOptions.DEFAULTS.withDepths(depth, depth).withInline(8);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 16, 100})
  void unsignaledRequestsNeverFillAQueueForGood(int depth) {
    try (Loop loop = new Loop(depth(depth))) {
      SendRequests one = loop.near.sendRequests(1, 1);
      one.write(loop.remote.remote(), 0).fromLong(0);
      for (int i = 0; i < 3 * depth + 1; i++) {
        one.setLong(0, i);
        if (!loop.near.post(one)) {
          assertThat(loop.poll()).as("completions that only free slots are not shown").isZero();
          assertThat(loop.near.post(one)).as("request %d of depth %d", i, depth).isTrue();
        }
      }
      assertThat(loop.device.seen).hasSize(3 * depth + 1);
      assertThat(loop.getRemote(0)).isEqualTo(3L * depth);
      assertThat(loop.near.failure()).isEmpty();
    }
  }

  @Test
  void aPostWithoutRoomReachesNoDevice() {
    try (Loop loop = new Loop(depth(16))) {
      loop.device.holdCompletions = true;
      SendRequests four = loop.near.sendRequests(4, 1);
      for (int i = 0; i < 4; i++) {
        four.write(loop.remote.remote(), 0).fromLong(i).signaled().id(i);
      }
      for (int i = 0; i < 4; i++) {
        assertThat(loop.near.post(four)).isTrue();
      }
      assertThat(loop.near.freeSends()).isZero();
      assertThat(loop.near.post(four)).isFalse();
      assertThat(loop.device.seen).hasSize(16);

      loop.device.holdCompletions = false;
      assertThat(loop.poll()).isEqualTo(16);
      assertThat(loop.near.freeSends()).isEqualTo(16);
      assertThat(loop.near.post(four)).isTrue();
    }
  }

  @Test
  void messagesOfThePeerFreeNoSlots() {
    try (Loop loop = new Loop(depth(2))) {
      loop.device.holdCompletions = true;
      SendRequests one = loop.near.sendRequests(1, 1);
      one.write(loop.remote.remote(), 0).fromLong(7).signaled();
      assertThat(loop.near.post(one)).isTrue();
      assertThat(loop.near.post(one)).isTrue();
      assertThat(loop.getRemote(0)).as("the peer has it").isEqualTo(7);
      assertThat(loop.near.post(one)).as("but the completion was not seen").isFalse();
    }
  }

  @Test
  void forcingASignalTouchesNoOtherFlag() {
    try (Loop loop = new Loop(depth(2))) {
      SendRequests one = loop.near.sendRequests(1, 1);
      one.write(loop.remote.remote(), 0).fromLong(7).fence().solicited();
      int own =
          IbverbsTypes.IBV_SEND_INLINE()
              | IbverbsTypes.IBV_SEND_FENCE()
              | IbverbsTypes.IBV_SEND_SOLICITED();
      loop.near.post(one);
      loop.near.post(one);
      assertThat(loop.device.seen.get(0).flags()).isEqualTo(own);
      assertThat(loop.device.seen.get(1).flags()).isEqualTo(own | IbverbsTypes.IBV_SEND_SIGNALED());
      assertThat(loop.poll()).isZero();
      loop.near.post(one);
      assertThat(loop.device.seen.get(2).flags()).isEqualTo(own);
    }
  }

  @Test
  void aChainLongerThanTheQueueIsRefusedWhenMade() {
    try (Loop loop = new Loop(depth(4))) {
      assertThatThrownBy(() -> loop.near.sendRequests(5, 1))
          .hasMessageContaining("5; it must be 1 to 4");
      assertThatThrownBy(() -> loop.near.sendRequests(4, 2))
          .hasMessageContaining("2; it must be 0 to 1");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {Errno.ENOMEM, -Errno.ENOMEM})
  void aRefusedPostIsAnErrorWithTheNumbers(int result) {
    try (Loop loop = new Loop(depth(8))) {
      SendRequests three = loop.near.sendRequests(3, 1);
      for (int i = 0; i < 3; i++) {
        three.write(loop.remote.remote(), 8L * i).fromLong(1);
      }
      loop.device.postResult = _ -> result;
      loop.device.acceptedOfRefused = 2;
      assertThatThrownBy(() -> loop.near.post(three))
          .isInstanceOfSatisfying(
              VerbsException.class, e -> assertThat(e.errno()).isEqualTo(Errno.ENOMEM))
          .hasMessageContainingAll(
              "ibv_post_send on fake0",
              "ENOMEM (12, Cannot allocate memory)",
              "took 2 of 3 requests",
              "2 of its 8 slots");
      assertThat(loop.near.freeSends()).isEqualTo(6);

      loop.device.postResult = _ -> 0;
      for (int i = 0; i < 10; i++) {
        if (!loop.near.post(three)) {
          loop.poll();
          assertThat(loop.near.post(three)).isTrue();
        }
      }
    }
  }

  @Test
  void errorNumbersAreReadFromEveryWayOfReporting() {
    assertThat(Errno.of(12, 0)).isEqualTo(12);
    assertThat(Errno.of(-12, 0)).isEqualTo(12);
    assertThat(Errno.of(-1, 12)).isEqualTo(12);
    assertThat(Errno.of(22, 12)).isEqualTo(22);
    assertThat(Errno.text(22)).isEqualTo("EINVAL (22, Invalid argument)");
    assertThat(Errno.text(12345)).isEqualTo("errno 12345");
  }

  @Test
  void receivesHaveSlotsToo() {
    try (Loop loop = new Loop(depth(2))) {
      ReceiveRequests one = loop.far.receiveRequests(1, 1).receive(42).into(loop.remote, 0, 8);
      assertThat(loop.far.post(one)).isTrue();
      assertThat(loop.far.post(one)).isTrue();
      assertThat(loop.far.post(one)).isFalse();
      loop.near.post(loop.near.sendRequests(1, 1).send().fromLong(1));
      assertThat(loop.receiveQueue.poll(loop.found)).isOne();
      assertThat(loop.found.id(0)).isEqualTo(42);
      assertThat(loop.far.freeReceives()).isOne();
      assertThat(loop.far.post(one)).isTrue();
    }
  }

  @Test
  void aQueuePairThatCouldOverrunItsCompletionQueueIsRefused() {
    StandIn device = new StandIn();
    try (Context context = device.open()) {
      ProtectionDomain domain = context.createProtectionDomain();
      CompletionQueue queue = context.createCompletionQueue(63);
      RdmaPath path = device.path(context);
      QueuePair first = domain.createQueuePair(path, depth(16), queue, queue);
      assertThatThrownBy(() -> domain.createQueuePair(path, depth(16), queue, queue))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContainingAll("holds 63", "32 at once", "32 more");
      first.close();
      domain.createQueuePair(path, depth(16), queue, queue);
    }
  }

  @Test
  void whatTheDeviceRoundedUpTheCapacityToCounts() {
    StandIn device = new StandIn();
    device.completionQueueEntries = 64;
    try (Context context = device.open()) {
      CompletionQueue queue = context.createCompletionQueue(1);
      assertThat(queue.capacity()).isEqualTo(64);
      ProtectionDomain domain = context.createProtectionDomain();
      domain.createQueuePair(device.path(context), depth(32), queue, queue);
    }
  }

  @Test
  void numbersGoOnBeyondTheirBits() {
    try (Loop loop = new Loop(depth(4))) {
      WorkQueue queue = WorkQueue.create(loop.near, false, 4, loop.sendQueue);
      for (int start : new int[] {-2, Integer.MAX_VALUE - 1}) {
        // The queue as it is after 2^32 - 2 and 2^31 - 2 requests.
        long first = RequestId.id(queue.tag(), start);
        queue.postedUpToRelease(first);
        queue.completedUpToRelease(first);
        assertThat(queue.free()).isEqualTo(4);
        queue.postedUpToRelease(RequestId.plus(first, 4));
        assertThat(queue.free()).isZero();
        for (int ahead = -1; ahead <= 4; ahead++) {
          long id = RequestId.plus(first, ahead);
          assertThat(RequestId.tag(id)).isEqualTo(queue.tag());
          assertThat(queue.isOutstanding(id))
              .as("%d ahead", ahead)
              .isEqualTo(ahead >= 0 && ahead < 4);
          assertThat(queue.isPlainlyOutstanding(id) && !queue.isOutstanding(id)).isFalse();
        }
        queue.completedUpToRelease(RequestId.plus(first, 4));
        assertThat(queue.free()).isEqualTo(4);
        assertThat(queue.outstanding()).isZero();
      }
    }
  }
}
