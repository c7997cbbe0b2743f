package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Receives shared by queue pairs. */
class SharedReceiveQueueTest {
  private static final QueuePairOptions OPTIONS = QueuePairOptions.DEFAULTS.withDepths(8, 8);

  private final StandIn device = new StandIn();
  private final Context context = device.open();
  private final RdmaPath path = device.path(context);
  private final ProtectionDomain domain = context.createProtectionDomain();
  private final CompletionQueue sends = context.createCompletionQueue(64);
  private final CompletionQueue received = context.createCompletionQueue(64);
  private final SharedReceiveQueue shared = domain.createSharedReceiveQueue(received, 6, 2);
  private final MemoryRegion memory = domain.allocate(4096, Access.LOCAL_WRITE);
  private final Completions found = new Completions(16);
  private final QueuePair firstSender = domain.createQueuePair(path, OPTIONS, sends, sends);
  private final QueuePair secondSender = domain.createQueuePair(path, OPTIONS, sends, sends);
  private final QueuePair first = receiver(firstSender);
  private final QueuePair second = receiver(secondSender);

  private QueuePair receiver(QueuePair sender) {
    QueuePair pair = domain.createQueuePair(path, OPTIONS, sends, shared);
    pair.connect(sender.endpoint());
    sender.connect(pair.endpoint());
    return pair;
  }

  @AfterEach
  void close() {
    context.close();
  }

  private ReceiveRequests receives(long from, long to) {
    ReceiveRequests chain = shared.receiveRequests(6, 1);
    for (long id = from; id <= to; id++) {
      chain.receive(id).into(memory, 64 * id, 64);
    }
    return chain;
  }

  private static void send(QueuePair sender) {
    sender.post(sender.sendRequests(1, 0).send().signaled());
  }

  @Test
  void eachMessageTakesTheNextReceiveWhoeverItIsFor() {
    assertThat(shared.post(receives(1, 3))).isTrue();
    send(firstSender);
    send(secondSender);
    send(firstSender);
    assertThat(received.poll(found)).isEqualTo(3);
    assertThat(new long[] {found.id(0), found.id(1), found.id(2)}).containsExactly(1, 2, 3);
    assertThat(found.queuePair(0)).isSameAs(first);
    assertThat(found.queuePair(1)).isSameAs(second);
    assertThat(found.queuePair(2)).isSameAs(first);
    assertThat(found.isReceive(0)).isTrue();
  }

  @Test
  void slotsAreFreedInWhateverOrderReceivesComplete() {
    assertThat(shared.freeReceives()).isEqualTo(6);
    for (int round = 0; round < 20; round++) {
      assertThat(shared.post(receives(1, 6))).isTrue();
      assertThat(shared.post(receives(7, 7))).as("it is full").isFalse();
      for (int i = 0; i < 6; i++) {
        send(i % 2 == 0 ? firstSender : secondSender);
      }
      device.reverseCompletions = true;
      assertThat(received.poll(found)).isEqualTo(6);
      device.reverseCompletions = false;
      assertThat(found.id(0)).isEqualTo(6);
      assertThat(found.id(5)).isEqualTo(1);
      assertThat(shared.freeReceives()).isEqualTo(6);
      sends.poll(found);
    }
  }

  @Test
  void theLimitIsToldOnce() throws InterruptedException {
    shared.post(receives(1, 4));
    shared.setLimit(3);
    assertThat(shared.queryLimit()).isEqualTo(3);
    send(firstSender);
    assertThat(context.awaitEvent(Duration.ZERO)).isEmpty();
    send(firstSender);
    assertThat(context.awaitEvent(Duration.ofSeconds(5)))
        .contains(new AsyncEvent.OfSharedReceiveQueue(AsyncEvent.Kind.SRQ_LIMIT_REACHED, shared));
    assertThat(shared.queryLimit()).isZero();
    assertThatThrownBy(() -> shared.setLimit(7)).hasMessageContaining("limit is 7");
  }

  @Test
  void aQueuePairWithSharedReceivesTakesNoneOfItsOwn() {
    assertThatThrownBy(() -> first.receiveRequests(1, 1))
        .hasMessageContaining("takes its receives from the shared receive queue of 6");
    ReceiveRequests other = firstSender.receiveRequests(1, 0).receive(1);
    assertThatThrownBy(() -> shared.post(other)).hasMessageContaining("was made for queue pair");
    assertThatThrownBy(() -> shared.post(shared.receiveRequests(1, 0)))
        .hasMessageContaining("empty");
    assertThatThrownBy(() -> firstSender.post(receives(1, 1)))
        .hasMessageContaining("was made for shared");
  }

  @Test
  void aRefusedReceiveKeepsItsSlot() {
    device.postResult = _ -> Errno.ENOMEM;
    device.acceptedOfRefused = 1;
    assertThatThrownBy(() -> shared.post(receives(1, 3)))
        .hasMessageContainingAll("ibv_post_srq_recv", "took 1 of 3", "5 of its 6 slots are free");
    device.postResult = _ -> 0;
    assertThat(shared.post(receives(2, 6))).isTrue();
    assertThat(shared.freeReceives()).isZero();
  }

  @Test
  void theCompletionOfAQueuePairThatIsGoneFreesItsSlot() {
    shared.post(receives(1, 6));
    send(firstSender);
    first.close();
    assertThat(received.poll(found)).isZero();
    assertThat(shared.freeReceives()).isOne();
  }

  @Test
  void aFailedReceiveEndsItsQueuePairAlone() {
    shared.post(receives(1, 6));
    device.addCompletion(received.handle(), device.completion(receiveTag(), 12, first.number()));
    assertThat(received.poll(found)).isOne();
    assertThat(found.id(0)).isEqualTo(1);
    assertThat(first.failure()).isPresent();
    assertThat(second.failure()).isEmpty();
  }

  @Test
  void completionsOfNobodyAreAnError() {
    device.addCompletion(received.handle(), device.completion(receiveTag() | 5, 0, 1));
    assertThatThrownBy(() -> received.poll(found)).hasMessageContaining("no outstanding request");
    device.addCompletion(received.handle(), device.completion(receiveTag() | 600, 0, 1));
    assertThatThrownBy(() -> received.poll(found)).hasMessageContaining("no outstanding request");
  }

  /** The queue was the first to come to its completion queue. */
  private static long receiveTag() {
    return RequestId.id(RequestId.tag(0, 1), 0);
  }

  @Test
  void whatDoesNotFitIsRefused() {
    assertThatThrownBy(() -> domain.createSharedReceiveQueue(received, 60, 1))
        .hasMessageContaining("60 more do not fit");
    assertThatThrownBy(() -> domain.createSharedReceiveQueue(received, 2049, 1))
        .hasMessageContainingAll("depth is 2049", "2048");
    assertThatThrownBy(() -> domain.createSharedReceiveQueue(received, 1, 17))
        .hasMessageContaining("scatter is 17");
    assertThatThrownBy(() -> shared.receiveRequests(7, 1)).hasMessageContaining("1 to 6");
    assertThatThrownBy(() -> shared.receiveRequests(1, 3)).hasMessageContaining("0 to 2");
    ProtectionDomain other = context.createProtectionDomain();
    assertThatThrownBy(() -> other.createQueuePair(path, OPTIONS, sends, shared))
        .hasMessageContaining("another protection domain");
  }

  @Test
  void closingItClosesItsQueuePairsFirst() {
    device.calls.clear();
    shared.close();
    assertThat(first.isClosed()).isTrue();
    assertThat(second.isClosed()).isTrue();
    assertThat(device.calls).endsWith("destroy_srq");
    assertThatThrownBy(() -> shared.post(receives(1, 1))).isInstanceOf(IllegalStateException.class);
    assertThat(domain.createSharedReceiveQueue(received, 64, 1).depth()).isEqualTo(64);
  }
}
