package org.verbena.bootstrap;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How groups form among late, wrong, stale and foreign processes. */
@Timeout(120)
class FormationTest {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final Duration SHORT = Duration.ofSeconds(2);

  @TempDir Path dir;

  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void endThreads() throws InterruptedException {
    threads.shutdownNow();
    assertThat(threads.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void ranksStartInAnyOrderTenTimes() throws Exception {
    long seed = Long.getLong("verbena.seed", System.nanoTime());
    System.out.println("FormationTest: -Dverbena.seed=" + seed);
    Random random = new Random(seed);
    List<Future<TcpGroup>> joins = new ArrayList<>();
    for (int run = 0; run < 10; run++) {
      Rendezvous rendezvous = file("run" + run);
      for (int rank = 0; rank < 8; rank++) {
        Membership membership = OneHost.membership(rank, 8, rendezvous);
        int delay = random.nextInt(5000); // the subject of this test
        joins.add(
            threads.submit(
                () -> {
                  Thread.sleep(delay);
                  return TcpGroup.join(membership, LONG);
                }));
      }
    }
    for (int run = 0; run < 10; run++) {
      assertWorks(joins.subList(8 * run, 8 * run + 8));
    }
  }

  @Test
  void sixtyFourRanksThatAreAllEarlierThanRankZero() throws Exception {
    Rendezvous rendezvous = at(Ports.free());
    int size = 65;
    CountDownLatch tried = new CountDownLatch(2 * (size - 1));
    List<Future<TcpGroup>> joins = new ArrayList<>();
    for (int rank = 1; rank < size; rank++) {
      Membership membership = OneHost.membership(rank, size, rendezvous);
      joins.add(
          threads.submit(
              () ->
                  TcpGroup.join(
                      membership,
                      LONG,
                      LONG,
                      host -> {
                        tried.countDown();
                        return InetAddress.getAllByName(host);
                      })));
    }
    assertThat(tried.await(30, TimeUnit.SECONDS)).isTrue();
    joins.addFirst(join(OneHost.membership(0, size, rendezvous), LONG));
    assertWorks(joins);
  }

  @Test
  void fiftyGroupsStartAtTheSameTime() throws Exception {
    List<Future<TcpGroup>> joins = new ArrayList<>();
    for (int run = 0; run < 50; run++) {
      for (int rank = 0; rank < 2; rank++) {
        joins.add(join(OneHost.membership(rank, 2, file("run" + run)), LONG));
      }
    }
    for (int run = 0; run < 50; run++) {
      assertWorks(joins.subList(2 * run, 2 * run + 2));
    }
  }

  @Test
  void aNameIsResolvedAgainAtEachTry() throws Exception {
    int port = Ports.free();
    AtomicInteger lookups = new AtomicInteger();
    Dialer.Resolver resolver =
        host -> {
          int lookup = lookups.incrementAndGet();
          if (lookup <= 3) {
            throw new UnknownHostException(host);
          }
          if (lookup == 4) {
            return new InetAddress[] {InetAddress.ofLiteral("127.77.77.77")};
          }
          return new InetAddress[] {InetAddress.ofLiteral("::1"), InetAddress.getLoopbackAddress()};
        };
    Membership other = Membership.of(1, 2, new Rendezvous.At("head.invalid", Ports.free()));
    Future<TcpGroup> failing =
        threads.submit(
            () ->
                TcpGroup.join(
                    other,
                    SHORT,
                    SHORT,
                    host -> {
                      throw new UnknownHostException(host);
                    }));
    assertThat(failure(failing))
        .hasMessageContaining("cannot resolve head.invalid")
        .hasMessageContaining("tries");
    Future<TcpGroup> second =
        threads.submit(
            () ->
                TcpGroup.join(
                    Membership.of(1, 2, new Rendezvous.At("head.invalid", port)),
                    LONG,
                    LONG,
                    resolver));
    assertWorks(List.of(join(Membership.of(0, 2, at(port)), LONG), second));
    assertThat(lookups).hasValueGreaterThan(4);
  }

  @Test
  void rankZeroWaitsForItsPortAndNamesItAtTheDeadline() throws Exception {
    int port = Ports.free();
    try (ServerSocket _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      assertThat(failure(join(OneHost.membership(0, 2, at(port)), SHORT)))
          .hasMessageContaining(String.valueOf(port))
          .hasMessageContaining("Address already in use")
          .hasMessageContaining("file:/path");
    }
  }

  @Test
  void missingRanksAreNamedOnEveryRank() throws Exception {
    Rendezvous rendezvous = file("rendezvous");
    var joins =
        List.of(
            join(OneHost.membership(0, 4, rendezvous), SHORT),
            join(OneHost.membership(2, 4, rendezvous), LONG));
    for (var join : joins) {
      assertThat(failure(join)).hasMessageContaining("ranks 1, 3 did not come in time");
    }
    assertThat(Files.exists(dir.resolve("rendezvous"))).isFalse();
  }

  @Test
  void aRankThatGivesUpFirstNamesTheMissingOnesToo() throws Exception {
    Rendezvous rendezvous = file("rendezvous");
    Future<TcpGroup> zero = join(OneHost.membership(0, 4, rendezvous), Duration.ofSeconds(6));
    assertThat(failure(join(OneHost.membership(1, 4, rendezvous), SHORT)))
        .hasMessageContaining("ranks 2, 3 did not come in time");
    assertThat(failure(zero)).hasMessageContaining("ranks 1, 2, 3 did not come in time");
  }

  @Test
  void ranksOfAnotherSizeAreRefusedAndAllAreTold() throws Exception {
    Rendezvous rendezvous = file("rendezvous");
    Future<TcpGroup> zero = join(OneHost.membership(0, 3, rendezvous), SHORT);
    Future<TcpGroup> one = join(OneHost.membership(1, 3, rendezvous), LONG);
    Future<TcpGroup> two = join(OneHost.membership(2, 4, rendezvous), LONG);
    assertThat(failure(two)).hasMessageContaining("rank 2 of 4, but rank 0 has a group of 3");
    for (var join : List.of(zero, one)) {
      assertThat(failure(join))
          .hasMessageContaining("rank 2 did not come in time")
          .hasMessageContaining("rank 2 of 4, but rank 0 has a group of 3");
    }
  }

  @Test
  void theSecondOfTwoRanksWithOneNumberIsRefusedAndTheGroupForms() throws Exception {
    Rendezvous rendezvous = file("rendezvous");
    Future<TcpGroup> zero = join(OneHost.membership(0, 3, rendezvous), LONG);
    CompletableFuture<TcpGroup> one = join(OneHost.membership(1, 3, rendezvous), LONG);
    CompletableFuture<TcpGroup> twin = join(OneHost.membership(1, 3, rendezvous), LONG);
    CompletableFuture.anyOf(one, twin).exceptionally(_ -> "refused").get(30, TimeUnit.SECONDS);
    assertThat(failure(one.isDone() ? one : twin))
        .hasMessageContaining("says it is rank 1, comes second")
        .hasMessageContaining("held by process " + ProcessHandle.current().pid());
    Future<TcpGroup> two = join(OneHost.membership(2, 3, rendezvous), LONG);
    assertWorks(List.of(zero, one.isDone() ? twin : one, two));
  }

  @Test
  void aRankThatDiesWhileTheGroupFormsGivesItsPlaceBack() throws Exception {
    int port = Ports.free();
    Future<TcpGroup> zero = join(OneHost.membership(0, 3, at(port)), LONG);
    try (Stranger first = Stranger.introduced(port, hello(1, 3, ""))) {
      assertThat(first.read()).isEqualTo(new Message.Waiting(List.of(2)));
    }
    Future<TcpGroup> one = join(OneHost.membership(1, 3, at(port)), LONG);
    Future<TcpGroup> two = join(OneHost.membership(2, 3, at(port)), LONG);
    assertWorks(List.of(zero, one, two));
  }

  @Test
  void whoIsNoMemberTakesNoPlace() throws Exception {
    long seed = Long.getLong("verbena.seed", System.nanoTime());
    System.out.println("FormationTest: -Dverbena.seed=" + seed);
    Random random = new Random(seed);
    int port = Ports.free();
    Future<TcpGroup> zero = join(OneHost.membership(0, 2, "new", at(port)), LONG);
    List<Stranger> strangers = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      Stranger.connect(port).close(); // a port scan
      strangers.add(Stranger.connect(port)); // says nothing
      Stranger garbage = Stranger.connect(port);
      byte[] bytes = new byte[1 + random.nextInt(5000)];
      random.nextBytes(bytes);
      garbage.write(bytes);
      strangers.add(garbage);
    }
    for (String words :
        List.of("GET / HTTP/1.1\r\n\r\n", "SSH-2.0-OpenSSH\r\n", "\0\0", "\0\0\0\0")) {
      Stranger stranger = Stranger.connect(port);
      stranger.write(words.getBytes(US_ASCII));
      strangers.add(stranger);
    }
    for (Message.Hello hello :
        List.of(
            hello(-1, 2, "new"),
            hello(0, 2, "new"),
            hello(2, 2, "new"),
            hello(1, 3, "new"),
            hello(1, 2, "old"),
            new Message.Hello(99, 1, 2, "new", 7))) {
      try (Stranger stranger = Stranger.introduced(port, hello)) {
        assertThat(stranger.read())
            .isInstanceOfSatisfying(
                Message.Refusal.class,
                refusal ->
                    assertThat(refusal.reason())
                        .contains("process 7, which says it is rank " + hello.rank()));
        stranger.awaitEnd();
      }
    }
    assertWorks(List.of(zero, join(OneHost.membership(1, 2, "new", at(port)), LONG)));
    for (Stranger stranger : strangers) {
      stranger.awaitEnd();
      stranger.close();
    }
  }

  @Test
  void whoSaysNothingIsSentAwayAfterAWhile() throws Exception {
    int port = Ports.free();
    Future<TcpGroup> zero = join(OneHost.membership(0, 2, at(port)), LONG);
    try (Stranger silent = Stranger.connect(port)) {
      silent.awaitEnd();
    }
    assertThat(zero.isDone()).isFalse();
    assertWorks(List.of(zero, join(OneHost.membership(1, 2, at(port)), LONG)));
  }

  @Test
  void theEldestOfTooManyThatSayNothingIsSentAway() throws Exception {
    int port = Ports.free();
    Future<TcpGroup> zero = join(OneHost.membership(0, 2, at(port)), LONG);
    List<Stranger> strangers = new ArrayList<>();
    for (int i = 0; i <= Listener.MAX_STRANGERS; i++) {
      strangers.add(Stranger.connect(port));
    }
    strangers.getFirst().awaitEnd();
    assertWorks(List.of(zero, join(OneHost.membership(1, 2, at(port)), LONG)));
    for (Stranger stranger : strangers) {
      stranger.close();
    }
  }

  @Test
  void aSecondRankZeroTakesThePlaceOfTheFirstWhichSaysSo() throws Exception {
    Path path = dir.resolve("rendezvous");
    Future<TcpGroup> first = join(OneHost.membership(0, 2, file("rendezvous")), SHORT);
    Deadline deadline = Deadline.in(LONG);
    while (!Files.exists(path) && !deadline.passed()) {
      Thread.sleep(1);
    }
    Future<TcpGroup> second = join(OneHost.membership(0, 2, file("rendezvous")), LONG);
    assertThat(failure(first))
        .hasMessageContaining("rank 1 did not come in time")
        .hasMessageContaining("another rank 0 has put itself in place of this one in " + path);
    assertWorks(List.of(second, join(OneHost.membership(1, 2, file("rendezvous")), LONG)));
  }

  @Test
  void aRankLeftOverFromTheLastRunDoesNotGetIn() throws Exception {
    Rendezvous rendezvous = at(Ports.free());
    Future<TcpGroup> lingering = join(OneHost.membership(1, 2, "old", rendezvous), SHORT);
    Future<TcpGroup> zero = join(OneHost.membership(0, 2, "new", rendezvous), LONG);
    assertThat(failure(lingering)).hasMessageContaining("of job 'old', rank 0 of job 'new'");
    assertWorks(List.of(zero, join(OneHost.membership(1, 2, "new", rendezvous), LONG)));
  }

  @Test
  void aRankZeroLeftOverFromTheLastRunIsWaitedFor() throws Exception {
    int port = Ports.free();
    Future<TcpGroup> lingering = join(OneHost.membership(0, 2, "old", at(port)), SHORT);
    Stranger.connect(port).close(); // it listens
    Future<TcpGroup> one = join(OneHost.membership(1, 2, "new", at(port)), LONG);
    Future<TcpGroup> zero = join(OneHost.membership(0, 2, "new", at(port)), LONG);
    assertThat(failure(lingering)).hasMessageContaining("rank 1 did not come in time");
    assertWorks(List.of(zero, one));
  }

  @Test
  void theFileOfAnEarlierRunMisleadsNobody() throws Exception {
    Path path = dir.resolve("rendezvous");
    // Somebody else listens now where the file says, and another group does too.
    int port = Ports.free();
    Future<TcpGroup> foreign = join(OneHost.membership(0, 2, at(port)), Duration.ofSeconds(4));
    Stranger.connect(port).close();
    new Published("stale", Addresses.toPublish(new InetSocketAddress(Addresses.loopback(), port)))
        .write(path);
    Future<TcpGroup> one = join(OneHost.membership(1, 2, file("rendezvous")), LONG);
    assertThat(failure(foreign)).hasMessageContaining("is of job '#stale', rank 0 of job ''");
    assertWorks(List.of(join(OneHost.membership(0, 2, file("rendezvous")), LONG), one));
  }

  @Test
  void anotherProgramOnThePortIsNotTakenForRankZero() throws Exception {
    for (byte[] words : List.of("SSH-2.0-OpenSSH_9\r\n".getBytes(US_ASCII), new byte[0])) {
      try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
        threads.execute(() -> answer(server, words));
        Future<TcpGroup> one = join(OneHost.membership(1, 2, at(server.getLocalPort())), SHORT);
        assertThat(failure(one))
            .hasMessageContaining("not let in by rank 0 at 127.0.0.1:" + server.getLocalPort())
            .hasMessageContaining(words.length > 0 ? "not of Verbena" : "no greeting");
      }
    }
  }

  /** Says the same to all who connect, until the server is closed. */
  private static void answer(ServerSocket server, byte[] words) {
    while (!server.isClosed()) {
      try (Socket socket = server.accept()) {
        socket.getOutputStream().write(words);
        socket.getInputStream().readAllBytes(); // until the other goes
      } catch (IOException _) {
        // the other was reset, or the test is over
      }
    }
  }

  @Test
  void aRankZeroOfAnotherBuildIsNamedAtOnce() throws Exception {
    try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      byte[] greeting = Message.encode(new Message.Greeting(99, new byte[0])).array();
      threads.execute(() -> answer(server, greeting));
      assertThat(failure(join(OneHost.membership(1, 2, at(server.getLocalPort())), LONG)))
          .hasMessageContaining(
              "rank 0 speaks version 99 of the bootstrap, this rank version " + Message.VERSION);
    }
  }

  @Test
  void theFileOfAnotherUserIsNotRead() throws Exception {
    Path path = dir.resolve("rendezvous");
    new Published("token", List.of()).write(path);
    assumeThat(Files.getAttribute(path, "unix:uid")).as("only root gives files away").isEqualTo(0);
    Files.setAttribute(path, "unix:uid", 12345);
    assertThat(failure(join(OneHost.membership(1, 2, file("rendezvous")), SHORT)))
        .hasMessageContaining("belongs to user 12345, but this process to user 0");
  }

  @Test
  void aMemberThatDiesIsNamedAndOneThatTalksNonsenseToo() throws Exception {
    for (byte[] last : List.of(new byte[0], "nonsense".getBytes(US_ASCII))) {
      int port = Ports.free();
      Future<TcpGroup> zero = join(OneHost.membership(0, 3, at(port)), LONG);
      Future<TcpGroup> one = join(OneHost.membership(1, 3, at(port)), LONG);
      try (Stranger two = Stranger.introduced(port, hello(2, 3, ""))) {
        TcpGroup group0 = zero.get(30, TimeUnit.SECONDS);
        TcpGroup group1 = one.get(30, TimeUnit.SECONDS);
        Future<?> waiting = threads.submit(() -> group1.allGather("keys", new byte[1]));
        two.write(last);
        if (last.length == 0) {
          two.end();
        }
        assertThat(failure(threads.submit(() -> group0.allGather("keys", new byte[1]))))
            .hasMessageContaining("rank 0 of 3, 'keys': rank 2 is gone");
        assertThat(failure(waiting)).hasMessageContaining("rank 1 of 3, 'keys': rank 2 is gone");
        group0.close();
        group1.close();
      }
    }
  }

  @Test
  void anInterruptEndsTheJoinOnAnyRank() throws Exception {
    for (int rank = 0; rank < 2; rank++) {
      Membership membership = OneHost.membership(rank, 2, file("rendezvous" + rank));
      List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
      Thread joining =
          Thread.ofPlatform()
              .start(
                  () -> {
                    try {
                      TcpGroup.join(membership, LONG);
                    } catch (GroupException e) {
                      failures.add(e);
                    }
                  });
      joining.interrupt();
      assertThat(joining.join(LONG)).isTrue();
      assertThat(failures).hasSize(1);
      assertThat(failures.getFirst()).hasMessageContaining("interrupted");
    }
  }

  private CompletableFuture<TcpGroup> join(Membership membership, Duration forming) {
    return CompletableFuture.supplyAsync(() -> TcpGroup.join(membership, forming, LONG), threads);
  }

  private Rendezvous file(String name) {
    return new Rendezvous.InFile(dir.resolve(name));
  }

  private static Rendezvous at(int port) {
    return new Rendezvous.At("127.0.0.1", port);
  }

  private static Message.Hello hello(int rank, int size, String job) {
    return new Message.Hello(Message.VERSION, rank, size, job, 7);
  }

  private static Throwable failure(Future<?> future) throws Exception {
    try {
      throw new AssertionError("did not fail but gave " + future.get(60, TimeUnit.SECONDS));
    } catch (ExecutionException _) {
      return future.exceptionNow();
    }
  }

  /** The group has formed, and a collective call goes through it. */
  private static void assertWorks(List<Future<TcpGroup>> joins) throws Exception {
    List<TcpGroup> group = new ArrayList<>();
    for (Future<TcpGroup> join : joins) {
      group.add(join.get(60, TimeUnit.SECONDS));
    }
    for (var outcome :
        Members.run(
            group.size(), rank -> () -> group.get(rank).allGather("ranks", new byte[rank]))) {
      for (int rank = 0; rank < group.size(); rank++) {
        assertThat(outcome.result().get(rank)).hasSize(rank);
      }
    }
    group.forEach(TcpGroup::close);
  }
}
