package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;
import org.verbena.cluster.Node;
import org.verbena.cluster.Task;

/** Sleeping until something completes or happens, on a real device. */
@ClusterTest(nodes = 1)
class EventIT {
  private static final QueuePairOptions OPTIONS = QueuePairOptions.DEFAULTS.withDepths(16, 16);

  private final Node node;

  EventIT(Cluster cluster) {
    this.node = cluster.node(1);
  }

  private void run(Task<Boolean> task) {
    assertThat(node.<Boolean>call(Duration.ofMinutes(2), task)).isTrue();
  }

  @Test
  void eachMessageWakesItsReceiver() {
    run(
        () -> {
          try (End near = new End(OPTIONS, 4096);
              End far = new End(OPTIONS, 4096)) {
            End.join(near, far);
            ReceiveRequests receive = far.pair.receiveRequests(1, 0).receive(1);
            SendRequests send = near.pair.sendRequests(1, 0).send().signaled();
            for (int i = 0; i < 30; i++) {
              far.pair.post(receive);
              CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> near.run(send));
              assertThat(far.queue.await(far.found, End.PATIENCE)).isOne();
              far.found.requireSuccess(0);
              sending.get(End.PATIENCE.toSeconds(), TimeUnit.SECONDS);
            }
            return true;
          }
        });
  }

  @Test
  void aSleepEndsAtItsDeadlineAndWhenInterrupted() {
    run(
        () -> {
          try (End end = new End(OPTIONS, 4096)) {
            assertThat(end.queue.await(end.found, Duration.ofMillis(20))).isZero();
            assertThat(end.context.awaitEvent(Duration.ofMillis(20))).isEmpty();
            AtomicReference<Throwable> ended = new AtomicReference<>();
            Thread sleeper =
                Thread.ofPlatform()
                    .start(
                        () -> {
                          try {
                            end.queue.await(end.found, End.PATIENCE);
                          } catch (RuntimeException | InterruptedException e) {
                            ended.set(e);
                          }
                        });
            sleeper.interrupt();
            assertThat(sleeper.join(End.PATIENCE)).isTrue();
            assertThat(ended.get()).isInstanceOf(InterruptedException.class);
            return true;
          }
        });
  }

  /** Destroying a completion queue waits for all events that were taken to be acknowledged. */
  @Test
  void aQueueWithEventsOpenCanBeClosed() {
    run(
        () -> {
          for (boolean taken : new boolean[] {false, true}) {
            try (End near = new End(OPTIONS, 4096);
                End far = new End(OPTIONS, 4096)) {
              End.join(near, far);
              near.queue.requestNotification(false);
              near.pair.post(
                  near.pair.sendRequests(1, 1).write(near.remote(), 0).fromLong(1).signaled());
              End.await("completion", () -> near.queue.poll(near.found) > 0);
              if (taken) {
                assertThat(near.channel.await(End.PATIENCE)).isTrue();
              }
              near.queue.close();
              assertThat(near.channel.await(Duration.ofMillis(10))).isFalse();
            }
          }
          return true;
        });
  }

  @Test
  void anAddressThatComesIsAnEventOfThePort() throws Exception {
    CompletableFuture<Boolean> told =
        node.submit(
            () -> {
              try (End end = new End(OPTIONS, 4096)) {
                return end.context
                    .awaitEvent(End.PATIENCE)
                    .equals(Optional.of(new AsyncEvent.OfPort(AsyncEvent.Kind.GID_CHANGE, 1)));
              }
            });
    String address = "10.213.9.9/24";
    while (!told.isDone()) {
      node.exec("ip", "addr", "add", address, "dev", "eth0").orThrow();
      node.exec("ip", "addr", "del", address, "dev", "eth0").orThrow();
    }
    assertThat(told.get()).isTrue();
  }

  @Test
  void aResizedQueueKeepsItsContent() {
    run(
        () -> {
          try (End near = new End(OPTIONS, 4096);
              End far = new End(OPTIONS, 4096)) {
            End.join(near, far);
            ReceiveRequests receives = far.pair.receiveRequests(8, 0);
            for (int i = 0; i < 8; i++) {
              receives.receive(i);
            }
            far.pair.post(receives);
            SendRequests send = near.pair.sendRequests(1, 0).send().signaled();
            for (int i = 0; i < 8; i++) {
              near.run(send);
            }
            far.queue.resize(1000);
            assertThat(far.queue.capacity()).isGreaterThanOrEqualTo(1000);
            assertThatThrownBy(() -> far.context.driver().resizeCq(far.queue.handle(), 4))
                .as("the device does not drop what is in the queue")
                .isInstanceOf(Errno.class)
                .hasMessageContaining("EINVAL");
            assertThatThrownBy(() -> far.queue.resize(31)).hasMessageContaining("32 at once");
            assertThat(far.queue.poll(far.found)).isEqualTo(8);
            for (int i = 0; i < 8; i++) {
              assertThat(far.found.id(i)).isEqualTo(i);
            }
            return true;
          }
        });
  }
}
