package org.verbena.bootstrap;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Ranks with a secret tell nothing to who does not have it. */
@Timeout(120)
class ProofTest {
  private static final Duration LONG = Duration.ofSeconds(30);
  private static final Duration SHORT = Duration.ofSeconds(2);
  private static final String JOB = "the-name-of-the-job";
  private static final String KEYS = "address 192.0.2.7, rkey 0x1234abcd";

  private static final int GREETING_BYTES = 4 + 1 + 4 + 4 + 1 + 32;
  private static final int RESPONSE_BYTES = 4 + 1 + 32 + 32;
  private static final int CONFIRMATION_BYTES = 4 + 1 + 32;
  private static final int REFUSAL_BYTES = 4 + 1 + 1 + 2;

  @TempDir Path dir;

  private final Secret secret = Secret.random();
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void endThreads() throws InterruptedException {
    threads.shutdownNow();
    assertThat(threads.awaitTermination(30, TimeUnit.SECONDS)).isTrue();
  }

  @Test
  void nothingOfTheGroupPassesBeforeBothHaveProvenThatTheyBelong() throws Exception {
    List<Wire.Piece> pieces = recorded();
    int proofs = 0;
    for (int bytes = 0; bytes < GREETING_BYTES + CONFIRMATION_BYTES; proofs++) {
      bytes += pieces.get(proofs).fromListener() ? pieces.get(proofs).bytes().length : 0;
    }
    List<Wire.Piece> before = pieces.subList(0, proofs);
    // Rank 0 has greeted and confirmed, the other has responded, and neither has said more.
    String listener = Wire.text(Wire.from(true, before));
    assertThat(listener).hasSize(GREETING_BYTES + CONFIRMATION_BYTES);
    assertThat(listener.charAt(4)).isEqualTo((char) 1);
    assertThat(listener.charAt(GREETING_BYTES + 4)).isEqualTo((char) 9);
    String dialer = Wire.text(Wire.from(false, before));
    assertThat(dialer).hasSize(RESPONSE_BYTES);
    assertThat(dialer.charAt(4)).isEqualTo((char) 8);
    for (String word : List.of(JOB, "keys", KEYS, "127.0.0.1", "192.0.2.7")) {
      assertThat(listener).doesNotContain(word);
      assertThat(dialer).doesNotContain(word);
    }
    // It is on the wire afterwards, so it would have been found.
    String after = Wire.text(pieces.subList(proofs, pieces.size()));
    assertThat(after).contains(JOB, "keys", KEYS);
    assertThat(Wire.text(pieces)).doesNotContain(secret.word());
  }

  /** What passes between the two ranks of a group that forms and exchanges keys. */
  private List<Wire.Piece> recorded() throws Exception {
    int port = Ports.free();
    Future<TcpGroup> zero = join(0, port, secret, LONG);
    Stranger.connect(port).close(); // it listens
    try (Wire wire = new Wire(port)) {
      Future<TcpGroup> one = join(1, wire.port(), secret, LONG);
      assertWorks(zero, one);
      return wire.pieces();
    }
  }

  @Test
  void strangersAreRefusedAndMembersLetInMeanwhile() throws Exception {
    String recorded = Wire.text(Wire.from(false, recorded()));
    byte[] replayed = recorded.substring(0, RESPONSE_BYTES).getBytes(ISO_8859_1);
    int port = Ports.free();
    Future<TcpGroup> zero = join(0, port, secret, LONG);
    List<Stranger> silent = new ArrayList<>();
    for (int i = 0; i < 50; i++) {
      silent.add(Stranger.connect(port));
    }
    Message.Hello hello = new Message.Hello(Message.VERSION, 1, 2, JOB, 7);
    Message.Response zeros = new Message.Response(new byte[32], new byte[32]);
    for (byte[] words :
        List.of(
            bytes(hello),
            bytes(new Message.Part(1, "keys", new byte[9000])),
            "GET / HTTP/1.1\r\n\r\n".getBytes(US_ASCII),
            ByteBuffer.allocate(4).putInt(0, Message.MAX_STRANGER_BYTES + 1).array(),
            ByteBuffer.allocate(4).putInt(0, Integer.MAX_VALUE).array())) {
      assertThat(heard(port, words))
          .as("heard after %s", new String(words, US_ASCII))
          .hasSize(GREETING_BYTES);
    }
    for (byte[] words : List.of(bytes(zeros), replayed)) {
      byte[] heard = heard(port, words);
      assertThat(heard).hasSize(GREETING_BYTES + REFUSAL_BYTES);
      assertThat(heard[GREETING_BYTES + 4]).isEqualTo((byte) 3);
    }
    // The listener's own challenge sent back to it, as if it were the stranger's.
    try (Stranger mirror = Stranger.connect(port)) {
      Message.Greeting greeting = (Message.Greeting) mirror.read();
      mirror.write(bytes(new Message.Response(greeting.challenge(), greeting.challenge())));
      assertThat(mirror.read()).isEqualTo(new Message.Refusal(true, ""));
    }
    assertWorks(zero, join(1, port, secret, LONG));
    for (Stranger stranger : silent) {
      stranger.awaitEnd();
      stranger.close();
    }
  }

  /** All that the listener says to who says this. */
  private static byte[] heard(int port, byte[] words) throws Exception {
    try (Stranger stranger = Stranger.connect(port)) {
      stranger.write(words);
      return stranger.readToEnd();
    }
  }

  @Test
  void whoSaysNothingAfterAProofIsSentAwayToo() throws Exception {
    int port = Ports.free();
    Future<TcpGroup> zero = join(0, port, secret, LONG);
    try (Stranger member = Stranger.connect(port)) {
      Message.Greeting greeting = (Message.Greeting) member.read();
      byte[] mine = Secret.challenge();
      byte[] proof = secret.proof(Secret.Side.DIALER, greeting.challenge(), mine);
      member.write(bytes(new Message.Response(mine, proof)));
      assertThat(member.read())
          .isInstanceOfSatisfying(
              Message.Confirmation.class,
              confirmation ->
                  assertThat(confirmation.proof())
                      .isEqualTo(secret.proof(Secret.Side.LISTENER, greeting.challenge(), mine)));
      member.awaitEnd();
    }
    assertWorks(zero, join(1, port, secret, LONG));
  }

  @Test
  void aRankWithAnotherSecretOrNoneIsRefusedAndBothSidesSayWhatToDo() throws Exception {
    int port = Ports.free();
    Future<TcpGroup> zero = join(0, port, secret, Duration.ofSeconds(5));
    assertThat(failure(join(1, port, Secret.random(), SHORT)))
        .hasMessageContaining("rank 0 has another secret")
        .hasMessageContaining("export VERBENA_SECRET_FILE=FILE");
    assertThat(failure(join(1, port, null, SHORT)))
        .hasMessageContaining("rank 0 asks for a secret, and this rank has none")
        .hasMessageContaining("export VERBENA_SECRET_FILE=FILE");
    assertThat(failure(zero))
        .hasMessageContaining("rank 1 did not come in time")
        .hasMessageContaining("connections have not proven that they belong, the last from 127.0.0")
        .hasMessageContaining("export VERBENA_SECRET_FILE=FILE");
  }

  @Test
  void aRankZeroWithoutASecretIsToldNothing() throws Exception {
    int port = Ports.free();
    Future<TcpGroup> zero = join(0, port, null, SHORT);
    Stranger.connect(port).close(); // it listens
    try (Wire wire = new Wire(port)) {
      assertThat(failure(join(1, wire.port(), secret, SHORT)))
          .hasMessageContaining("this rank has a secret, and rank 0 asks for none");
      assertThat(Wire.from(false, wire.pieces())).isEmpty();
    }
    assertThat(failure(zero)).hasMessageContaining("rank 1 did not come in time");
  }

  /** Answers a response as a false rank 0 may. */
  private interface Answer {
    byte[] to(Message.Response response);
  }

  @Test
  void whoPosesAsRankZeroLearnsNothing() throws Exception {
    String recorded = Wire.text(Wire.from(true, recorded()));
    byte[] greeting = recorded.substring(0, GREETING_BYTES).getBytes(ISO_8859_1);
    byte[] replayed =
        recorded
            .substring(GREETING_BYTES, GREETING_BYTES + CONFIRMATION_BYTES)
            .getBytes(ISO_8859_1);
    Secret other = Secret.random();
    byte[] challenge = recorded.substring(GREETING_BYTES - 32, GREETING_BYTES).getBytes(ISO_8859_1);
    byte[] tooLong = ByteBuffer.allocate(4).putInt(0, Message.MAX_STRANGER_BYTES + 1).array();
    List<Future<?>> cases =
        List.of(
            poses(greeting, "another secret", it -> bytes(new Message.Confirmation(it.proof()))),
            poses(greeting, "another secret", _ -> bytes(new Message.Confirmation(new byte[32]))),
            poses(greeting, "another secret", _ -> replayed),
            poses(greeting, "another secret", it -> confirmation(other, challenge, it)),
            poses(greeting, "no answer to a challenge", ProofTest::bytes),
            poses(greeting, "no answer to a challenge", _ -> bytes(new Message.Waiting(List.of()))),
            poses(greeting, "not of Verbena", _ -> "SSH-2.0-OpenSSH_9\r\n".getBytes(US_ASCII)),
            poses(greeting, "not of Verbena", _ -> tooLong));
    for (Future<?> done : cases) {
      done.get(60, TimeUnit.SECONDS);
    }
  }

  private static byte[] confirmation(Secret secret, byte[] challenge, Message.Response response) {
    return bytes(
        new Message.Confirmation(
            secret.proof(Secret.Side.LISTENER, challenge, response.challenge())));
  }

  private Future<?> poses(byte[] greeting, String reason, Answer answer) {
    return threads.submit(
        () -> {
          assertPoses(greeting, reason, answer);
          return null;
        });
  }

  /** The rank fails, for this reason, and has said nothing but its responses. */
  private void assertPoses(byte[] greeting, String reason, Answer answer) throws Exception {
    List<byte[]> heard = new CopyOnWriteArrayList<>();
    try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      threads.execute(() -> pose(server, greeting, answer, heard));
      assertThat(failure(join(1, server.getLocalPort(), secret, SHORT)))
          .hasMessageContaining(reason);
    }
    assertThat(heard).isNotEmpty().allSatisfy(bytes -> assertThat(bytes).isEmpty());
  }

  /** Greets all who connect, answers their response and keeps what they say then. */
  private static void pose(
      ServerSocket server, byte[] greeting, Answer answer, List<byte[]> heard) {
    while (!server.isClosed()) {
      ByteArrayOutputStream more = new ByteArrayOutputStream();
      try (Socket socket = server.accept()) {
        socket.getOutputStream().write(greeting);
        DataInputStream in = new DataInputStream(socket.getInputStream());
        Message first = Message.decode(in.readNBytes(in.readInt()));
        socket.getOutputStream().write(answer.to((Message.Response) first));
        for (int b = in.read(); b >= 0; b = in.read()) {
          more.write(b);
        }
        heard.add(more.toByteArray());
      } catch (IOException _) {
        // the test is over, or the other has closed before it had read all
        heard.add(more.toByteArray());
      }
    }
  }

  @Test
  void aFloodOfStrangersKeepsNobodyOut() throws Exception {
    int port = Ports.free();
    Future<TcpGroup> zero = join(0, port, secret, LONG);
    List<Stranger> strangers = new ArrayList<>();
    for (int i = 0; i <= Listener.MAX_STRANGERS; i++) {
      strangers.add(Stranger.connect(port));
    }
    strangers.getFirst().awaitEnd();
    assertWorks(zero, join(1, port, secret, LONG));
    for (Stranger stranger : strangers) {
      stranger.close();
    }
  }

  @Test
  void beyondLoopbackASecretIsNeeded() throws Exception {
    Path path = dir.resolve("rendezvous");
    Membership zero = Membership.of(0, 2, new Rendezvous.InFile(path));
    assertThat(failure(join(zero, LONG)))
        .hasMessageContaining("is not loopback, and this rank has no secret")
        .hasMessageContaining("export VERBENA_SECRET_FILE=FILE")
        .hasMessageContaining("--insecure");
    assertThat(Files.exists(path)).isFalse();
    // An address for documentation: had it been dialled, the failure would be another.
    Membership one = Membership.of(1, 2, new Rendezvous.At("192.0.2.7", 29501));
    assertThat(failure(join(one, LONG)))
        .hasMessageContaining("192.0.2.7:29501 is not loopback, and this rank has no secret");
  }

  @Test
  void aGroupBeyondLoopbackFormsWithASecretOrIfItMayDoWithout() throws Exception {
    Rendezvous file = new Rendezvous.InFile(dir.resolve("rendezvous"));
    assertWorks(
        join(Membership.of(0, 2, file).withSecret(secret), LONG),
        join(Membership.of(1, 2, file).withSecret(secret), LONG));
    assertWorks(join(insecure(0, file), LONG), join(insecure(1, file), LONG));
  }

  private static Membership insecure(int rank, Rendezvous rendezvous) {
    Membership none = Membership.of(rank, 2, rendezvous);
    return new Membership(
        rank, 2, none.localRank(), none.localSize(), JOB, rendezvous, Optional.empty(), true);
  }

  private Future<TcpGroup> join(int rank, int port, @Nullable Secret secret, Duration forming) {
    Membership open = OneHost.membership(rank, 2, JOB, new Rendezvous.At("127.0.0.1", port));
    return join(secret == null ? open : open.withSecret(secret), forming);
  }

  private Future<TcpGroup> join(Membership membership, Duration forming) {
    return threads.submit(() -> TcpGroup.join(membership, forming, LONG));
  }

  private static byte[] bytes(Message message) {
    return Message.encode(message).array();
  }

  private static Throwable failure(Future<?> future) throws Exception {
    try {
      throw new AssertionError("did not fail but gave " + future.get(60, TimeUnit.SECONDS));
    } catch (ExecutionException _) {
      return future.exceptionNow();
    }
  }

  /** Both are in a group, and exchange their keys through it. */
  @SafeVarargs
  private static void assertWorks(Future<TcpGroup>... joins) throws Exception {
    List<TcpGroup> group = new ArrayList<>();
    for (Future<TcpGroup> join : joins) {
      group.add(join.get(60, TimeUnit.SECONDS));
    }
    for (var outcome :
        Members.run(
            group.size(),
            rank -> () -> group.get(rank).allGather("keys", KEYS.getBytes(US_ASCII)))) {
      assertThat(outcome.result())
          .allSatisfy(part -> assertThat(new String(part, US_ASCII)).isEqualTo(KEYS));
    }
    group.forEach(TcpGroup::close);
  }
}
