package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.verbena.ffi.IbverbsTypes;

/** Sleeping until something completes or happens, and making a completion queue larger. */
class EventTest {
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private final StandIn device = new StandIn();
  private final Context context = device.open();
  private final CompletionChannel channel = context.createCompletionChannel();
  private final CompletionQueue queue = context.createCompletionQueue(300, channel);
  private final ProtectionDomain domain = context.createProtectionDomain();
  private final QueuePair pair =
      domain.createQueuePair(device.path(context), QueuePairOptions.DEFAULTS, queue, queue);
  private final Completions found = new Completions(8);

  @AfterEach
  void close() {
    context.close();
  }

  /** Something completes at once. */
  private void complete() {
    pair.post(pair.sendRequests(1, 0).send().signaled());
  }

  private void connectToItself() {
    pair.connect(pair.endpoint());
    pair.post(pair.receiveRequests(4, 0).receive(1).receive(2).receive(3).receive(4));
  }

  @Test
  void aChannelWakesWhoAsked() throws InterruptedException {
    queue.requestNotification(true);
    assertThat(device.calls).contains("req_notify_cq 1");
    assertThat(channel.await(Duration.ofMillis(1))).isFalse();
    device.completionEvents = 1;
    assertThat(channel.await(PATIENCE)).isTrue();
    channel.close();
    assertThat(queue.isClosed()).isTrue();
    assertThatThrownBy(() -> channel.await(Duration.ZERO))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void whatIsThereIsTakenWithoutSleeping() throws InterruptedException {
    connectToItself();
    complete();
    assertThat(queue.await(found, Duration.ZERO)).isEqualTo(2);
    assertThat(device.calls).doesNotContain("req_notify_cq 0", "get_cq_event");
  }

  @Test
  void whatComesBeforeTheQueueIsArmedIsNotSleptOver() throws InterruptedException {
    connectToItself();
    device.whenArmed = this::complete; // the event of it is lost
    assertThat(queue.await(found, PATIENCE)).isEqualTo(2);
    assertThat(device.calls).contains("req_notify_cq 0").doesNotContain("get_cq_event");
  }

  @Test
  void aSleeperTakesWhatWokeIt() throws InterruptedException {
    connectToItself();
    device.completionEvents = 2; // the first is of another queue on the channel
    device.whenWoken =
        () -> {
          if (device.completionEvents == 0) {
            complete();
          }
        };
    assertThat(queue.await(found, PATIENCE)).isEqualTo(2);
    assertThat(device.calls.stream().filter("req_notify_cq 0"::equals)).hasSize(2);
  }

  @Test
  void aSleepEndsAtItsDeadline() throws InterruptedException {
    assertThat(queue.await(found, Duration.ofMillis(5))).isZero();
    assertThat(context.awaitEvent(Duration.ofMillis(5))).isEmpty();
  }

  @Test
  void aQueueWithoutAChannelCannotBeSleptOn() {
    assertThatThrownBy(() -> context.createCompletionQueue(8).await(found, Duration.ZERO))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("without a channel");
  }

  @Test
  void sleepersAreInterrupted() {
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> queue.await(found, PATIENCE)).isInstanceOf(InterruptedException.class);
    assertThat(Thread.currentThread().isInterrupted()).isFalse();
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> context.awaitEvent(PATIENCE)).isInstanceOf(InterruptedException.class);
    assertThat(Thread.currentThread().isInterrupted()).isFalse();
  }

  @Test
  void closingEndsASleep() throws Exception {
    AtomicReference<Throwable> ended = new AtomicReference<>();
    CompletableFuture<Void> asleep = new CompletableFuture<>();
    device.whenArmed = () -> asleep.complete(null);
    Thread sleeper =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    queue.await(found, PATIENCE);
                  } catch (IllegalStateException | InterruptedException e) {
                    ended.set(e);
                  }
                });
    asleep.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    context.close();
    assertThat(sleeper.join(PATIENCE)).isTrue();
    assertThat(ended.get()).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void anEventNamesWhatItHappenedTo() throws InterruptedException {
    device.addAsyncEvent(IbverbsTypes.IBV_EVENT_QP_ACCESS_ERR(), pair.handle().address());
    device.addAsyncEvent(IbverbsTypes.IBV_EVENT_CQ_ERR(), queue.handle().address());
    device.addAsyncEvent(IbverbsTypes.IBV_EVENT_GID_CHANGE(), 1);
    device.addAsyncEvent(IbverbsTypes.IBV_EVENT_DEVICE_FATAL(), 0);
    device.addAsyncEvent(IbverbsTypes.IBV_EVENT_QP_FATAL(), 0xdead);
    device.addAsyncEvent(77, 0);

    assertThat(context.awaitEvent(PATIENCE))
        .contains(new AsyncEvent.OfQueuePair(AsyncEvent.Kind.QP_ACCESS_ERR, pair));
    assertThat(context.awaitEvent(PATIENCE))
        .contains(new AsyncEvent.OfCompletionQueue(AsyncEvent.Kind.CQ_ERR, queue));
    assertThat(context.awaitEvent(PATIENCE))
        .contains(new AsyncEvent.OfPort(AsyncEvent.Kind.GID_CHANGE, 1));
    assertThat(context.awaitEvent(PATIENCE))
        .contains(new AsyncEvent.OfDevice(AsyncEvent.Kind.DEVICE_FATAL));
    assertThat(context.awaitEvent(PATIENCE))
        .as("its queue pair is gone")
        .contains(new AsyncEvent.OfDevice(AsyncEvent.Kind.QP_FATAL));
    assertThat(context.awaitEvent(PATIENCE))
        .contains(new AsyncEvent.OfDevice(AsyncEvent.Kind.UNKNOWN));
  }

  @Test
  void failuresNameTheCall() {
    device.completionEvents = 1;
    device.errors.put("get_cq_event", 5);
    assertThatThrownBy(() -> channel.await(PATIENCE))
        .hasMessageContainingAll("ibv_get_cq_event", "EIO");
    device.addAsyncEvent(IbverbsTypes.IBV_EVENT_DEVICE_FATAL(), 0);
    device.errors.put("get_async_event", 5);
    assertThatThrownBy(() -> context.awaitEvent(PATIENCE))
        .hasMessageContainingAll("ibv_get_async_event", "EIO");
  }

  @Test
  void aResizedQueueKeepsItsContent() {
    connectToItself();
    complete();
    queue.resize(1000);
    assertThat(queue.capacity()).isEqualTo(1000);
    assertThat(queue.poll(found)).isEqualTo(2);
    QueuePairOptions deep = QueuePairOptions.DEFAULTS.withDepths(500, 200);
    assertThat(domain.createQueuePair(device.path(context), deep, queue, queue).freeSends())
        .isEqualTo(500);
  }

  @Test
  void aQueueIsNotMadeSmallerThanItsQueuePairsNeedNorLargerThanTheDeviceHolds() {
    assertThatThrownBy(() -> queue.resize(255))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll("256", "255");
    assertThatThrownBy(() -> queue.resize(32768)).hasMessageContainingAll("32767", "32768");
    assertThat(device.calls).doesNotContain("resize_cq");
    device.errors.put("resize_cq", Errno.ENOMEM);
    assertThatThrownBy(() -> queue.resize(256))
        .hasMessageContainingAll("ibv_resize_cq", "ENOMEM", "from 300 to 256");
    assertThat(queue.capacity()).isEqualTo(300);
  }
}
