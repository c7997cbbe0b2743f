package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;

/** Datagrams and receives that are shared, on real devices. */
@ClusterTest(nodes = 2)
class DatagramIT {
  private static final int PORT = 18700;
  private static final int KEY = 0x1234_5678;
  private static final int ROUTE = AddressHandle.ROUTE_BYTES;
  private static final QueuePairOptions OPTIONS =
      QueuePairOptions.DEFAULTS.withDepths(16, 16).withInline(64);

  /** The class shows in the IP header. Linux takes the hop limit from its routes instead. */
  private static final Traffic TRAFFIC = new Traffic(0, 0x68, 0x12345, 33);

  private final Cluster cluster;

  DatagramIT(Cluster cluster) {
    this.cluster = cluster;
  }

  /** An end with a queue pair for datagrams. */
  private static final class Station implements AutoCloseable {
    final End end = new End(OPTIONS, 8192);
    final QueuePair pair;
    final CompletionQueue queue;

    Station() {
      queue = end.context.createCompletionQueue(64, end.channel);
      pair = end.domain.createDatagramPair(end.path, OPTIONS, queue, queue, KEY);
      pair.activate();
    }

    AddressHandle to(Endpoint peer) {
      return end.domain.createAddressHandle(end.path, peer.gid(), peer.lid(), TRAFFIC);
    }

    void receive(long id, int bytes) {
      assertThat(pair.post(pair.receiveRequests(1, 1).receive(id).into(end.region, 4096, bytes)))
          .isTrue();
    }

    int await() {
      End.await("completion", () -> queue.poll(end.found) > 0);
      return end.found.size();
    }

    void send(SendRequests chain) {
      assertThat(pair.post(chain)).isTrue();
      assertThat(await()).isOne();
      end.found.requireSuccess(0);
    }

    @Override
    public void close() throws IOException {
      end.close();
    }
  }

  @Test
  void aDatagramReachesItsPeerWithItsRoute() {
    CompletableFuture<Boolean> serving =
        cluster
            .node(1)
            .submit(
                () -> {
                  try (Station here = new Station()) {
                    here.receive(5, ROUTE + 64);
                    Meeting.accept(PORT, here.pair.endpoint().encode());
                    assertThat(here.await()).isOne();
                    checkReceived(here);
                    return true;
                  }
                });
    int source =
        cluster
            .node(2)
            .<Integer>call(
                () -> {
                  try (Station here = new Station()) {
                    Endpoint peer =
                        Endpoint.decode(ByteBuffer.wrap(Meeting.connect("node1", PORT)));
                    here.end.set(0, 4711);
                    here.send(
                        here.pair
                            .sendRequests(1, 1)
                            .sendToWithImmediate(here.to(peer), peer.queuePair(), KEY, 77)
                            .from(here.end.region, 0, 24)
                            .signaled());
                    return here.pair.number();
                  }
                });
    assertThat(source).isPositive();
    assertThat(serving.orTimeout(60, TimeUnit.SECONDS).join()).isTrue();
  }

  private static void checkReceived(Station here) {
    Completions found = here.end.found;
    assertThat(found.id(0)).isEqualTo(5);
    assertThat(found.opcode(0)).isEqualTo(Opcode.RECEIVE);
    assertThat(found.byteLength(0)).isEqualTo(ROUTE + 24);
    assertThat(found.immediate(0)).isEqualTo(77);
    assertThat(found.hasRoute(0)).isTrue();
    assertThat(found.sourceQueuePair(0)).isPositive();
    assertThat(here.end.get(4096 + ROUTE)).isEqualTo(4711);
    // The last 20 bytes of the route are the IPv4 header, whose second has the traffic class.
    assertThat(here.end.region.memory().get(ValueLayout.JAVA_BYTE, 4096 + 20 + 1) & 0xfc)
        .isEqualTo(0x68);
  }

  @Test
  void datagramsOfNoBytesAndOfTheMtuArrive() {
    assertThat(
            cluster
                .node(1)
                .<Boolean>call(
                    () -> {
                      try (Station near = new Station();
                          Station far = new Station()) {
                        int mtu = near.end.path.port().activeMtu().bytes();
                        AddressHandle to = near.to(far.pair.endpoint());
                        SendRequests chain = near.pair.sendRequests(1, 1);
                        for (int bytes : new int[] {0, 1, mtu}) {
                          far.receive(bytes, ROUTE + mtu);
                          chain.clear().sendTo(to, far.pair.number(), KEY);
                          near.send(chain.from(near.end.region, 0, bytes).signaled());
                          assertThat(far.await()).isOne();
                          assertThat(far.end.found.byteLength(0)).isEqualTo(ROUTE + bytes);
                          assertThat(far.end.found.sourceQueuePair(0))
                              .isEqualTo(near.pair.number());
                        }
                        chain.clear().sendTo(to, far.pair.number(), KEY);
                        assertThatThrownBy(() -> chain.from(near.end.region, 0, mtu + 1))
                            .isInstanceOf(IndexOutOfBoundsException.class);
                        return true;
                      }
                    }))
        .isTrue();
  }

  /** One that comes after it and is received shows that the first was dropped. */
  @Test
  void aDatagramWithTheWrongKeyIsDropped() {
    assertThat(
            cluster
                .node(1)
                .<Boolean>call(
                    () -> {
                      try (Station near = new Station();
                          Station far = new Station()) {
                        far.receive(1, ROUTE + 8);
                        far.receive(2, ROUTE + 8);
                        AddressHandle to = near.to(far.pair.endpoint());
                        SendRequests chain = near.pair.sendRequests(1, 1);
                        chain.sendTo(to, far.pair.number(), KEY + 1).fromLong(1).signaled();
                        near.send(chain);
                        near.send(
                            chain
                                .clear()
                                .sendTo(to, far.pair.number(), KEY)
                                .fromLong(2)
                                .signaled());
                        assertThat(far.await()).isOne();
                        assertThat(far.end.found.id(0)).isEqualTo(1);
                        assertThat(far.end.get(4096 + ROUTE)).isEqualTo(2);
                        return true;
                      }
                    }))
        .isTrue();
  }

  @Test
  void aDatagramPairSleepsForItsMessages() {
    assertThat(
            cluster
                .node(1)
                .<Boolean>call(
                    () -> {
                      try (Station near = new Station();
                          Station far = new Station()) {
                        AddressHandle to = near.to(far.pair.endpoint());
                        SendRequests chain =
                            near.pair
                                .sendRequests(1, 0)
                                .sendTo(to, far.pair.number(), KEY)
                                .signaled();
                        for (int i = 0; i < 10; i++) {
                          far.receive(i, ROUTE);
                          near.send(chain);
                          assertThat(far.queue.await(far.end.found, End.PATIENCE)).isOne();
                          assertThat(far.end.found.id(0)).isEqualTo(i);
                        }
                        return true;
                      }
                    }))
        .isTrue();
  }

  @Test
  void addressesAreMadeAndDestroyed() {
    assertThat(
            cluster
                .node(1)
                .<Boolean>call(
                    () -> {
                      try (Station here = new Station()) {
                        AddressHandle handle = here.to(here.pair.endpoint());
                        handle.close();
                        handle.close();
                        assertThat(handle.isClosed()).isTrue();
                        assertThatThrownBy(
                                () ->
                                    here.end.domain.createAddressHandle(
                                        here.end.path, new Gid(0, 0), 1, Traffic.DEFAULTS))
                            .isInstanceOf(IllegalArgumentException.class);
                        RdmaPath path = here.end.path;
                        RdmaPath wrong =
                            new RdmaPath(
                                path.device(), path.port(), 250, path.gid(), path.gidType());
                        assertThatThrownBy(
                                () ->
                                    here.end.domain.createAddressHandle(
                                        wrong, path.gid(), 0, Traffic.DEFAULTS))
                            .as("there is no GID at 250")
                            .isInstanceOf(VerbsException.class)
                            .hasMessageContaining("ibv_create_ah");
                        return true;
                      }
                    }))
        .isTrue();
  }

  /** Three queue pairs, one queue of receives; the events are of the last. */
  @Test
  void manyQueuePairsShareTheirReceives() {
    assertThat(
            cluster
                .node(1)
                .<Boolean>call(
                    Duration.ofMinutes(2),
                    () -> {
                      try (End end = new End(OPTIONS, 8192)) {
                        shareReceives(end);
                        return true;
                      }
                    }))
        .isTrue();
  }

  private static void shareReceives(End end) throws InterruptedException {
    CompletionQueue sent = end.context.createCompletionQueue(128);
    CompletionQueue received = end.context.createCompletionQueue(64);
    SharedReceiveQueue shared = end.domain.createSharedReceiveQueue(received, 8, 1);
    QueuePair[] senders = new QueuePair[3];
    QueuePair[] receivers = new QueuePair[3];
    for (int i = 0; i < 3; i++) {
      senders[i] = end.domain.createQueuePair(end.path, OPTIONS, sent, sent);
      receivers[i] = end.domain.createQueuePair(end.path, OPTIONS, sent, shared);
      senders[i].connect(receivers[i].endpoint());
      receivers[i].connect(senders[i].endpoint());
    }
    ReceiveRequests receives = shared.receiveRequests(8, 1);
    for (int i = 0; i < 8; i++) {
      receives.receive(i).into(end.region, 64L * i, 64);
    }
    for (int round = 0; round < 20; round++) {
      assertThat(shared.post(receives)).isTrue();
      assertThat(shared.post(receives)).as("it is full").isFalse();
      for (int i = 0; i < 8; i++) {
        QueuePair sender = senders[i % 3];
        sender.post(sender.sendRequests(1, 1).send().fromLong(100 * round + i).signaled());
        End.await("send", () -> sent.poll(end.found) > 0);
        end.found.requireSuccess(0);
      }
      for (int i = 0; i < 8; i++) {
        Completions one = new Completions(1);
        End.await("receive", () -> received.poll(one) > 0);
        one.requireSuccess(0);
        assertThat(one.id(0)).isEqualTo(i);
        assertThat(one.queuePair(0)).isSameAs(receivers[i % 3]);
        assertThat(end.get(64L * i)).isEqualTo(100L * round + i);
      }
    }
    shared.post(receives);
    shared.setLimit(7);
    assertThat(shared.queryLimit()).isEqualTo(7);
    for (int i = 0; i < 2; i++) {
      senders[0].post(senders[0].sendRequests(1, 1).send().fromLong(0).signaled());
      End.await("send", () -> sent.poll(end.found) > 0);
    }
    assertThat(end.context.awaitEvent(End.PATIENCE))
        .contains(new AsyncEvent.OfSharedReceiveQueue(AsyncEvent.Kind.SRQ_LIMIT_REACHED, shared));
    receivers[1].fail();
    assertThat(end.context.awaitEvent(End.PATIENCE))
        .contains(new AsyncEvent.OfQueuePair(AsyncEvent.Kind.QP_LAST_WQE_REACHED, receivers[1]));
    shared.close();
    assertThat(receivers[2].isClosed()).isTrue();
  }
}
