package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;
import org.verbena.cluster.Node;
import org.verbena.cluster.RdmaDevice;
import org.verbena.cluster.Task;

/** The verbs layer on real devices: between two nodes, and from a node to itself. */
@ClusterTest(nodes = 2)
class VerbsIT {
  private static final Duration DEADLINE = Duration.ofMinutes(3);
  private static final int PORT = 18600;
  private static final QueuePairOptions OPTIONS =
      QueuePairOptions.DEFAULTS.withScatter(4, 4).withInline(64).withDepths(16, 16);

  /** Gives a peer up after a fraction of a second. */
  private static final QueuePairOptions IMPATIENT = OPTIONS.withRetries(10, 3, 1, 2);

  private final Cluster cluster;

  VerbsIT(Cluster cluster) {
    this.cluster = cluster;
  }

  /** Runs two tasks, one in each node; the server's failure is told too. */
  private void both(Task<Boolean> server, Task<Boolean> client) {
    CompletableFuture<Boolean> serving = cluster.node(1).submit(server);
    try {
      assertThat(cluster.node(2).call(DEADLINE, client)).isTrue();
    } catch (RuntimeException e) {
      if (serving.isCompletedExceptionally()) {
        serving.exceptionNow().addSuppressed(e);
        throw new AssertionError("the server failed", serving.exceptionNow());
      }
      throw e;
    }
    assertThat(serving.orTimeout(60, TimeUnit.SECONDS).join()).isTrue();
  }

  @Test
  void everyOperationBetweenTwoNodes() {
    both(
        () -> {
          try (End end = new End(OPTIONS, 1 << 16).accept(PORT)) {
            end.set(1024, 4321);
            end.set(2048, 10);
            ReceiveRequests receives = end.pair.receiveRequests(3, 2);
            receives.receive(1);
            receives.receive(2).into(end.region, 4096, 8).into(end.region, 8192, 64);
            receives.receive(3).into(end.region, 4160, 8);
            assertThat(end.pair.post(receives)).isTrue();
            end.meet();
            end.meet();
            checkReceived(end);
            return true;
          }
        },
        () -> {
          try (End end = new End(OPTIONS, 1 << 16).connect("node1", PORT)) {
            end.meet();
            runEveryOperation(end);
            end.meet();
            return true;
          }
        });
  }

  private static void runEveryOperation(End end) {
    assertThat(end.context.calls().provider())
        .as("rxe polls in user space and posts by a system call")
        .isEqualTo(new Provider(true, false));
    RemoteRegion remote = end.remote();
    SendRequests chain = end.pair.sendRequests(4, 2);
    for (int i = 0; i < 64; i++) {
      end.set(8L * i, 1000 + i);
    }

    chain.write(remote, 0).from(end.region, 0, 256).from(end.region, 256, 256);
    chain.write(remote, 512).fromLong(0x0000_0001_0000_0040L).signaled().id(71);
    end.run(chain);
    assertThat(end.found.id(0)).isEqualTo(71);
    assertThat(end.found.opcode(0)).isEqualTo(Opcode.RDMA_WRITE);

    end.run(chain.clear().read(remote, 1024).into(end.region, 32768, 8).signaled());
    assertThat(end.found.opcode(0)).isEqualTo(Opcode.RDMA_READ);
    assertThat(end.get(32768)).isEqualTo(4321);

    end.run(chain.clear().fetchAndAdd(remote, 2048, 5, end.region, 32776).signaled());
    assertThat(end.found.opcode(0)).isEqualTo(Opcode.FETCH_AND_ADD);
    assertThat(end.get(32776)).isEqualTo(10);

    end.run(chain.clear().compareAndSwap(remote, 2048, 15, 99, end.region, 32784).signaled());
    assertThat(end.found.opcode(0)).isEqualTo(Opcode.COMPARE_AND_SWAP);
    assertThat(end.get(32784)).isEqualTo(15);
    end.run(chain.clear().compareAndSwap(remote, 2048, 15, 77, end.region, 32784).signaled());
    assertThat(end.get(32784)).as("it was swapped before").isEqualTo(99);

    chain.clear().read(remote, 2048).into(end.region, 32792, 8);
    chain.write(remote, 3072).from(end.region, 32792, 8).fence().signaled();
    end.run(chain);

    end.run(
        chain
            .clear()
            .writeWithImmediate(remote, 3080, 0x0102_0304)
            .from(end.region, 0, 8)
            .signaled());
    end.run(chain.clear().send().from(end.region, 0, 24).solicited().signaled());
    assertThat(end.found.opcode(0)).isEqualTo(Opcode.SEND);
    end.run(chain.clear().sendWithImmediate(0).fromLong(5).signaled());
  }

  private static void checkReceived(End end) {
    for (int i = 0; i < 64; i++) {
      assertThat(end.get(8L * i)).isEqualTo(1000 + i);
    }
    assertThat(end.get(512)).isEqualTo(0x0000_0001_0000_0040L);
    assertThat(end.get(2048)).isEqualTo(99);
    assertThat(end.get(3072)).as("a fenced write sends what was read before it").isEqualTo(99);
    assertThat(end.get(3080)).isEqualTo(1000);
    int seen = 0;
    while (seen < 3) {
      int size = end.await();
      for (int i = 0; i < size; i++) {
        seen++;
        assertThat(end.found.id(i)).isEqualTo(seen);
        assertThat(end.found.isReceive(i)).isTrue();
        switch (seen) {
          case 1 -> {
            assertThat(end.found.opcode(i)).isEqualTo(Opcode.RECEIVE_RDMA_WITH_IMMEDIATE);
            assertThat(end.found.immediate(i)).isEqualTo(0x0102_0304);
          }
          case 2 -> {
            assertThat(end.found.opcode(i)).isEqualTo(Opcode.RECEIVE);
            assertThat(end.found.byteLength(i)).isEqualTo(24);
            assertThat(end.found.hasImmediate(i)).isFalse();
          }
          default -> {
            assertThat(end.found.hasImmediate(i)).isTrue();
            assertThat(end.found.immediate(i)).isZero();
          }
        }
      }
    }
    assertThat(end.get(4096)).isEqualTo(1000);
    assertThat(end.get(8192)).isEqualTo(1001);
    assertThat(end.get(8200)).isEqualTo(1002);
    assertThat(end.get(4160)).isEqualTo(5);
  }

  /** Two queue pairs of one process; the packet numbers run over their 24 bits at once. */
  @Test
  void everyOperationInLoopback() {
    cluster
        .node(1)
        .<Boolean>call(
            DEADLINE,
            () -> {
              try (End near = new End(OPTIONS, 1 << 16);
                  End far = new End(OPTIONS, 1 << 16)) {
                loopback(near, far);
                return true;
              }
            });
  }

  private static void loopback(End near, End far) {
    for (End end : new End[] {near, far}) {
      Endpoint peer = withLastSequence((end == near ? far : near).pair.endpoint());
      end.pair.initialize();
      end.pair.readyToReceive(peer);
      end.pair.modify(
          QueuePairState.RTS,
          new QueuePairAttributes()
              .timeout(14)
              .retryCount(7)
              .rnrRetry(6)
              .sendSequence(0xff_ffff)
              .initiatorReads(peer.readDepth()));
      assertThat(end.pair.queryState()).isEqualTo(QueuePairState.RTS);
    }
    RemoteRegion remote = far.region.remote();
    far.pair.post(far.pair.receiveRequests(1, 1).receive(9).into(far.region, 20000, 64));
    for (int i = 0; i < 1024; i++) {
      near.set(8L * i, 7L * i);
    }
    SendRequests chain = near.pair.sendRequests(3, 1);
    chain.write(remote, 0).from(near.region, 0, 8192);
    chain.write(remote, 8192).fromLong(1);
    chain.send().from(near.region, 80, 8).signaled();
    near.run(chain);
    far.await();
    assertThat(far.found.id(0)).isEqualTo(9);
    assertThat(far.get(20000)).isEqualTo(70);
    for (int i = 0; i < 1024; i++) {
      assertThat(far.get(8L * i)).isEqualTo(7L * i);
    }
    assertThat(far.get(8192)).isEqualTo(1);
    assertThat(far.get(8200)).as("nothing is written beyond").isZero();
  }

  private static Endpoint withLastSequence(Endpoint endpoint) {
    return new Endpoint(
        endpoint.queuePair(),
        0xff_ffff,
        endpoint.gid(),
        endpoint.gidType(),
        endpoint.lid(),
        endpoint.mtu(),
        endpoint.readDepth());
  }

  @Test
  void thePathOfANodeIsItsOwnRoutableOne() {
    for (Node node : cluster.nodes()) {
      RdmaDevice device = node.device();
      assertThat(node.<String>call(VerbsIT::chosenPath))
          .isEqualTo(
              "%s port %d GID %d ::ffff:%s (RoCE v2)"
                  .formatted(device.name(), device.port(), device.gidIndex(), device.address()));
    }
  }

  private static String chosenPath() {
    PathChoice choice = Verbs.open(PathSelector.ANY);
    choice.context().close();
    return choice.path().toString();
  }

  @Test
  void aPathIsChosenAnewWhenAddressesChange() {
    Node node = cluster.node(2);
    String before = node.<String>call(VerbsIT::chosenPath);
    String address = node.exec("ip", "-o", "-4", "addr", "show", "eth0").orThrow().stdout();
    String[] words = address.strip().split("\\s+", -1);
    String network = words[3];
    node.exec("ip", "addr", "add", "10.213.7.7/24", "dev", "eth0").orThrow();
    try {
      node.exec("ip", "addr", "del", network, "dev", "eth0").orThrow();
      assertThat(node.<String>call(VerbsIT::chosenPath)).contains("::ffff:10.213.7.7");
    } finally {
      node.exec("ip", "addr", "add", network, "dev", "eth0").orThrow();
      node.exec("ip", "addr", "del", "10.213.7.7/24", "dev", "eth0").orThrow();
    }
    assertThat(node.<String>call(VerbsIT::chosenPath)).isEqualTo(before);
  }

  @Test
  void aWrongKeyEndsTheQueuePairWithAnErrorThatNamesIt() {
    both(
        () -> {
          try (End end = new End(OPTIONS, 4096).accept(PORT + 1)) {
            end.meet();
            return true;
          }
        },
        () -> {
          try (End end = new End(OPTIONS, 4096).connect("node1", PORT + 1)) {
            RemoteRegion right = end.remote();
            RemoteRegion wrong =
                new RemoteRegion(
                    right.address(), right.length(), new RemoteKey(right.key().value() ^ 0x100));
            SendRequests chain =
                end.pair.sendRequests(1, 1).write(wrong, 0).fromLong(1).signaled().id(5);
            end.pair.post(chain);
            end.await();
            assertThat(end.found.status(0)).isEqualTo(Status.REM_ACCESS_ERR);
            assertThatThrownBy(() -> end.found.requireSuccess(0))
                .hasMessageContainingAll(
                    "send request 5", "REM_ACCESS_ERR", end.context.name(), "remote key");
            assertThatThrownBy(() -> end.pair.post(chain))
                .hasCauseInstanceOf(WorkCompletionException.class);
            assertThat(end.pair.queryState()).isEqualTo(QueuePairState.ERR);
            end.meet();
            return true;
          }
        });
  }

  @Test
  void aPeerWithoutReceivesIsGivenUpInTime() {
    both(
        () -> {
          try (End end = new End(IMPATIENT, 4096).accept(PORT + 2)) {
            end.meet();
            return true;
          }
        },
        () -> {
          try (End end = new End(IMPATIENT, 4096).connect("node1", PORT + 2)) {
            end.pair.post(
                end.pair
                    .sendRequests(1, 1)
                    .writeWithImmediate(end.remote(), 0, 1)
                    .fromLong(1)
                    .signaled());
            end.await();
            assertThat(end.found.status(0)).isEqualTo(Status.RNR_RETRY_EXC_ERR);
            end.meet();
            return true;
          }
        });
  }

  @Test
  void aPeerThatIsGoneIsGivenUpInTime() {
    both(
        () -> {
          try (End end = new End(IMPATIENT, 4096).accept(PORT + 3)) {
            end.pair.close();
            end.meet();
            end.meet();
            return true;
          }
        },
        () -> {
          try (End end = new End(IMPATIENT, 4096).connect("node1", PORT + 3)) {
            end.meet();
            end.pair.post(
                end.pair.sendRequests(1, 1).write(end.remote(), 0).fromLong(1).signaled());
            end.await();
            assertThat(end.found.status(0)).isEqualTo(Status.RETRY_EXC_ERR);
            end.meet();
            return true;
          }
        });
  }

  @Test
  void hundredsOfUnsignaledWritesFitThroughAnyQueue() {
    int[] depths = {1, 2, 16, 32};
    both(
        () -> {
          for (int depth : depths) {
            try (End end = new End(OPTIONS.withDepths(depth, 1), 16384).accept(PORT + 10 + depth)) {
              end.meet();
              for (int i = 0; i < 1000; i++) {
                assertThat(end.get(8L * i)).as("depth %d, write %d", depth, i).isEqualTo(i + 1);
              }
            }
          }
          return true;
        },
        () -> {
          for (int depth : depths) {
            try (End end =
                new End(OPTIONS.withDepths(depth, 1), 16384).connect("node1", PORT + 10 + depth)) {
              SendRequests one = end.pair.sendRequests(1, 1);
              for (int i = 0; i < 999; i++) {
                end.post(one.clear().write(end.remote(), 8L * i).fromLong(i + 1L));
              }
              end.post(one.clear().write(end.remote(), 8L * 999).fromLong(1000).signaled());
              end.await();
              end.meet();
            }
          }
          return true;
        });
  }

  @Test
  void inlineIsLoweredToWhatTheDeviceTakes() {
    int inline =
        cluster
            .node(1)
            .<Integer>call(
                () -> {
                  try (End end = new End(OPTIONS.withInline(4096), 4096)) {
                    return end.pair.inlineBytes();
                  }
                });
    assertThat(inline).isBetween(64, 4095);
  }

  @Test
  void aSleeperIsWokenByACompletion() {
    both(
        () -> {
          try (End end = new End(OPTIONS, 4096).accept(PORT + 4)) {
            end.pair.post(end.pair.receiveRequests(1, 0).receive(6));
            assertThat(end.channel.await(Duration.ofMillis(10))).isFalse();
            end.queue.requestNotification(true);
            end.meet();
            assertThat(end.channel.await(End.PATIENCE)).isTrue();
            assertThat(end.await()).isOne();
            assertThat(end.found.id(0)).isEqualTo(6);
            end.meet();
            return true;
          }
        },
        () -> {
          try (End end = new End(OPTIONS, 4096).connect("node1", PORT + 4)) {
            end.meet();
            end.run(end.pair.sendRequests(1, 0).send().solicited().signaled());
            end.meet();
            return true;
          }
        });
  }

  @Test
  void closingUnderTrafficEndsItCleanly() {
    closeUnderTraffic(10);
  }

  @Test
  @Tag("long")
  void closingUnderTrafficTwoHundredTimesEndsItCleanly() {
    closeUnderTraffic(200);
  }

  private void closeUnderTraffic(int rounds) {
    both(
        () -> {
          for (int round = 0; round < rounds; round++) {
            try (End end = new End(OPTIONS, 4096).accept(PORT + 5)) {
              end.meet();
            }
          }
          return true;
        },
        () -> {
          for (int round = 0; round < rounds; round++) {
            try (End end = new End(OPTIONS, 4096).connect("node1", PORT + 5)) {
              closeUnderTraffic(end);
              end.meet();
            }
          }
          return true;
        });
  }

  private static void closeUnderTraffic(End end) throws InterruptedException {
    SendRequests chain =
        end.pair.sendRequests(1, 1).write(end.remote(), 0).from(end.region, 0, 4096).signaled();
    CountDownLatch running = new CountDownLatch(20);
    AtomicReference<Throwable> ended = new AtomicReference<>();
    Thread traffic =
        Thread.ofPlatform()
            .start(
                () -> {
                  try {
                    while (true) {
                      end.pair.post(chain);
                      end.queue.poll(end.found);
                      running.countDown();
                    }
                  } catch (Throwable e) {
                    ended.set(e);
                  }
                });
    assertThat(running.await(30, TimeUnit.SECONDS)).isTrue();
    end.context.close();
    traffic.join(30_000);
    assertThat(ended.get()).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void closingGivesEverythingBack() {
    Node node = cluster.node(2);
    String before = resources(node);
    node.<Boolean>call(
        DEADLINE,
        () -> {
          for (int i = 0; i < 30; i++) {
            try (End end = new End(OPTIONS, 4096)) {
              end.pair.connect(end.pair.endpoint());
            }
          }
          return true;
        });
    assertThat(resources(node)).isEqualTo(before);
  }

  /** What the node's own device has: {@code pd 1 cq 1 qp 1 ...}. */
  private static String resources(Node node) {
    return node.exec("rdma", "resource", "show", node.device().name()).orThrow().stdout();
  }

  @Test
  void memoryBeyondTheLimitIsRefusedWithTheNumbers() {
    Node node = cluster.node(1);
    String output =
        node.exec(
                Duration.ofMinutes(2),
                "sh",
                "-c",
                "prlimit --memlock=65536:65536 setpriv --reuid=65534 --regid=65534 --clear-groups"
                    + " --inh-caps=-all --bounding-set=-all java -XX:TieredStopAtLevel=1"
                    + " -XX:+UseSerialGC --enable-native-access=ALL-UNNAMED -cp"
                    + " '/opt/verbena/target/*' "
                    + MemoryLockMain.class.getName())
            .orThrow()
            .stdout();
    assertThat(output).contains("ENOMEM", "1048576 bytes", "65536 bytes", "ulimit -l");
  }

  @Test
  void writesOfEveryLengthArriveWhole() {
    both(
        () -> {
          try (End end = new End(OPTIONS, 1 << 20).accept(PORT + 6)) {
            end.meet();
            return true;
          }
        },
        () -> {
          try (End end = new End(OPTIONS, 1 << 20).connect("node1", PORT + 6)) {
            SendRequests chain = end.pair.sendRequests(1, 1);
            for (long i = 0; i < 1 << 16; i++) {
              end.region.memory().set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31 + 7));
            }
            for (int bytes : new int[] {0, 1, 7, 1023, 1024, 1025, 14336, 65535, 65536}) {
              end.run(chain.clear().write(end.remote(), 3).from(end.region, 0, bytes).signaled());
              end.run(
                  chain.clear().read(end.remote(), 3).into(end.region, 1 << 18, bytes).signaled());
              assertThat(
                      end.region
                          .memory()
                          .asSlice(1 << 18, bytes)
                          .mismatch(end.region.memory().asSlice(0, bytes)))
                  .as("%d bytes", bytes)
                  .isEqualTo(-1);
            }
            end.meet();
            return true;
          }
        });
  }

  @Test
  void relaxedOrderingIsPassedOnToTheDevice() {
    assertThat(
            cluster
                .node(1)
                .<Boolean>call(
                    () -> {
                      try (End end = new End(OPTIONS, 4096)) {
                        return end.domain
                            .allocate(4096, Access.LOCAL_WRITE, Access.RELAXED_ORDERING)
                            .allows(Access.RELAXED_ORDERING);
                      }
                    }))
        .isTrue();
  }

  @Test
  void packetNumbersGoOnBehindTheLast() {
    assertThat(
            cluster
                .node(1)
                .<Boolean>call(
                    () -> {
                      try (End near = new End(OPTIONS, 1 << 16);
                          End far = new End(OPTIONS, 1 << 16)) {
                        Endpoint last = withSequence(near.pair.endpoint(), 0xff_ffff);
                        far.pair.connect(last);
                        near.pair.initialize();
                        near.pair.readyToReceive(far.pair.endpoint());
                        near.pair.modify(
                            QueuePairState.RTS,
                            new QueuePairAttributes()
                                .timeout(14)
                                .retryCount(7)
                                .rnrRetry(6)
                                .sendSequence(last.packetSequence())
                                .initiatorReads(1));
                        near.region.memory().fill((byte) 7);
                        near.run(
                            near.pair
                                .sendRequests(1, 1)
                                .write(far.region.remote(), 0)
                                .from(near.region, 0, 1 << 16)
                                .signaled());
                        return far.region.memory().mismatch(near.region.memory()) == -1;
                      }
                    }))
        .isTrue();
  }

  private static Endpoint withSequence(Endpoint end, int sequence) {
    return new Endpoint(
        end.queuePair(), sequence, end.gid(), end.gidType(), end.lid(), end.mtu(), end.readDepth());
  }

  @Test
  void unlikeMtusMeetAtTheSmaller() {
    cluster.node(2).exec("ip", "link", "set", "eth0", "mtu", "9000").orThrow();
    try {
      both(
          () -> {
            try (End end = new End(OPTIONS, 1 << 16).accept(PORT + 9)) {
              assertThat(end.path.port().activeMtu()).isEqualTo(Mtu.MTU_1024);
              return writeAll(end);
            }
          },
          () -> {
            try (End end = new End(OPTIONS, 1 << 16).connect("node1", PORT + 9)) {
              assertThat(end.path.port().activeMtu()).isEqualTo(Mtu.MTU_4096);
              return writeAll(end);
            }
          });
    } finally {
      cluster.node(2).exec("ip", "link", "set", "eth0", "mtu", "1500").orThrow();
    }
  }

  /** Half a region goes to the peer and is read back into the other half. */
  private static boolean writeAll(End end) throws IOException {
    int half = 1 << 15;
    end.region.memory().asSlice(0, half).fill((byte) 5);
    end.meet();
    SendRequests chain = end.pair.sendRequests(1, 1);
    end.run(chain.write(end.remote(), half).from(end.region, 0, half).signaled());
    end.meet();
    boolean arrived =
        end.region.memory().asSlice(half).mismatch(end.region.memory().asSlice(0, half)) == -1;
    end.meet();
    return arrived;
  }

  @Test
  void addsAreDoneOnceEachWhilePacketsAreLost() {
    int adds = 1000;
    cluster.node(1).slow("loss", "5%");
    try {
      both(
          () -> {
            try (End end = new End(OPTIONS.withRetries(10, 7, 12, 6), 4096).accept(PORT + 10)) {
              end.meet();
              assertThat(end.get(0)).isEqualTo(adds);
              return true;
            }
          },
          () -> {
            try (End end =
                new End(OPTIONS.withRetries(10, 7, 12, 6), 4096).connect("node1", PORT + 10)) {
              SendRequests chain =
                  end.pair
                      .sendRequests(1, 1)
                      .fetchAndAdd(end.remote(), 0, 1, end.region, 8)
                      .signaled();
              for (int i = 0; i < adds; i++) {
                end.run(chain);
                assertThat(end.get(8)).isEqualTo(i);
              }
              end.meet();
              return true;
            }
          });
    } finally {
      cluster.node(1).bringBack();
    }
  }

  @Test
  void childrenMayBeStartedWhileMemoryIsRegistered() {
    assertThat(
            cluster
                .node(1)
                .<Boolean>call(
                    () -> {
                      try (End near = new End(OPTIONS, 100);
                          End far = new End(OPTIONS, 100)) {
                        End.join(near, far);
                        SendRequests chain =
                            near.pair
                                .sendRequests(1, 1)
                                .write(far.region.remote(), 0)
                                .from(near.region, 0, 8)
                                .signaled();
                        for (int i = 0; i < 20; i++) {
                          Process child = new ProcessBuilder("true").start();
                          near.set(0, i + 1);
                          near.run(chain);
                          assertThat(far.get(0)).isEqualTo(i + 1);
                          assertThat(child.waitFor()).isZero();
                        }
                        return true;
                      }
                    }))
        .isTrue();
  }
}
