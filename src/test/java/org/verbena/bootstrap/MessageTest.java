package org.verbena.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class MessageTest {
  private static final List<Message> MESSAGES =
      List.of(
          new Message.Greeting(Message.VERSION, new byte[0]),
          new Message.Greeting(Message.VERSION, bytes(1)),
          new Message.Response(bytes(2), bytes(3)),
          new Message.Confirmation(bytes(4)),
          new Message.Hello(1, 2, 3, "job ü", 4711),
          new Message.Refusal(true, "stale"),
          new Message.Waiting(List.of()),
          new Message.Waiting(List.of(3, 1)),
          new Message.Broken("rank 2 is gone"),
          new Message.Bye());

  @Test
  void messagesAreReadAsTheyWereWritten() throws Exception {
    for (Message message : MESSAGES) {
      assertThat(Message.decode(fields(message))).usingRecursiveComparison().isEqualTo(message);
    }
    Message part = new Message.Part(5, "keys", new byte[] {1, 2, 3});
    assertThat(Message.decode(fields(part)))
        .isInstanceOfSatisfying(
            Message.Part.class,
            read -> {
              assertThat(read.rank()).isEqualTo(5);
              assertThat(read.operation()).isEqualTo("keys");
              assertThat(read.bytes()).containsExactly(1, 2, 3);
            });
  }

  @Test
  void whatIsCutShortOrTooLongIsNoMessage() {
    for (Message message : MESSAGES) {
      byte[] whole = fields(message);
      for (int length = 0; length < whole.length; length++) {
        byte[] cut = Arrays.copyOf(whole, length);
        assertThatThrownBy(() -> Message.decode(cut)).isInstanceOf(ProtocolException.class);
      }
      byte[] longer = Arrays.copyOf(whole, whole.length + 1);
      assertThatThrownBy(() -> Message.decode(longer)).isInstanceOf(ProtocolException.class);
    }
  }

  @Test
  void garbageEndsInAProtocolExceptionAndInNothingElse() {
    long seed = Long.getLong("verbena.seed", System.nanoTime());
    System.out.println("MessageTest: -Dverbena.seed=" + seed);
    Random random = new Random(seed);
    int refused = 0;
    for (int i = 0; i < 20_000; i++) {
      byte[] bytes = new byte[1 + random.nextInt(40)];
      random.nextBytes(bytes);
      bytes[0] = (byte) random.nextInt(11);
      try {
        Message.decode(bytes);
      } catch (ProtocolException _) {
        refused++;
      }
    }
    assertThat(refused).isGreaterThan(10_000);
  }

  private static byte[] bytes(int value) {
    byte[] bytes = new byte[32];
    Arrays.fill(bytes, (byte) value);
    return bytes;
  }

  private static byte[] fields(Message message) {
    ByteBuffer frame = Message.encode(message);
    assertThat(frame.getInt()).isEqualTo(frame.remaining());
    byte[] fields = new byte[frame.remaining()];
    frame.get(fields);
    return fields;
  }
}
