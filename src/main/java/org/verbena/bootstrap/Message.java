package org.verbena.bootstrap;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ProtocolException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * What ranks say to each other over TCP. A message is a frame: the length of what follows (int, big
 * endian), one byte for the kind, then the fields.
 *
 * <p>Rank 0 speaks first: {@link Greeting}. Where the group has a secret, {@link Response} and
 * {@link Confirmation} follow, which prove to each side that the other knows it. Only then does the
 * other say who it is: {@link Hello}.
 */
sealed interface Message {
  /** The version of these messages and of their order. */
  int VERSION = 2;

  /** The most bytes that a frame has before its sender is known to be a member. */
  int MAX_STRANGER_BYTES = 8 << 10;

  /** The most bytes of any frame. */
  int MAX_BYTES = Group.MAX_PART_BYTES + (64 << 10);

  /** The first bytes of the fields of greeting and hello: "VRBN". */
  int MAGIC = 0x5652424E;

  /** Rank 0, at once to whoever connects; the challenge is empty if rank 0 has no secret. */
  @SuppressWarnings("ArrayRecordComponent") // messages are never compared
  record Greeting(int version, byte[] challenge) implements Message {}

  /** Who connected answers the challenge, and challenges in turn. */
  @SuppressWarnings("ArrayRecordComponent")
  record Response(byte[] challenge, byte[] proof) implements Message {}

  /** Rank 0 answers that challenge. */
  @SuppressWarnings("ArrayRecordComponent")
  record Confirmation(byte[] proof) implements Message {}

  /** Who connected; {@code process} is its id, for messages only. */
  record Hello(int version, int rank, int size, String job, long process) implements Message {}

  /** You have no place here; {@code again} if another try could have another outcome. */
  record Refusal(boolean again, String reason) implements Message {}

  /** You have your place, and wait for these ranks; the group is complete when there are none. */
  record Waiting(List<Integer> missing) implements Message {}

  /** What a rank gives to an {@link Group#allGather}; rank 0 passes it on to all. */
  @SuppressWarnings("ArrayRecordComponent") // messages are never compared
  record Part(int rank, String operation, byte[] bytes) implements Message {}

  /** The group is broken. */
  record Broken(String reason) implements Message {}

  /** The sender leaves in good order. */
  record Bye() implements Message {}

  /** The frame of a message, ready to be sent. */
  static ByteBuffer encode(Message message) {
    ByteArrayOutputStream frame = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(frame)) {
      out.writeInt(0);
      switch (message) {
        case Greeting(int version, byte[] challenge) -> {
          out.writeByte(1);
          out.writeInt(MAGIC);
          out.writeInt(version);
          out.writeBoolean(challenge.length > 0);
          out.write(challenge);
        }
        case Response(byte[] challenge, byte[] proof) -> {
          out.writeByte(8);
          out.write(challenge);
          out.write(proof);
        }
        case Confirmation(byte[] proof) -> {
          out.writeByte(9);
          out.write(proof);
        }
        case Hello(int version, int rank, int size, String job, long process) -> {
          out.writeByte(2);
          out.writeInt(MAGIC);
          out.writeInt(version);
          out.writeInt(rank);
          out.writeInt(size);
          out.writeUTF(job);
          out.writeLong(process);
        }
        case Refusal(boolean again, String reason) -> {
          out.writeByte(3);
          out.writeBoolean(again);
          out.writeUTF(shortened(reason));
        }
        case Waiting(List<Integer> missing) -> {
          out.writeByte(4);
          out.writeInt(missing.size());
          for (int rank : missing) {
            out.writeInt(rank);
          }
        }
        case Part(int rank, String operation, byte[] bytes) -> {
          out.writeByte(5);
          out.writeInt(rank);
          out.writeUTF(operation);
          out.write(bytes);
        }
        case Broken(String reason) -> {
          out.writeByte(6);
          out.writeUTF(shortened(reason));
        }
        case Bye() -> out.writeByte(7);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    ByteBuffer whole = ByteBuffer.wrap(frame.toByteArray());
    return whole.putInt(0, whole.limit() - Integer.BYTES);
  }

  /** Reads the frame without its length. */
  static Message decode(byte[] frame) throws ProtocolException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(frame));
    try {
      Message message =
          switch (in.readByte()) {
            case 1 -> {
              int version = version(in);
              // Another version's greeting may go on in another way; its number is all that counts.
              yield version == VERSION
                  ? new Greeting(
                      version, exactly(in, in.readBoolean() ? Secret.CHALLENGE_BYTES : 0))
                  : new Greeting(version, in.readAllBytes());
            }
            case 2 ->
                new Hello(version(in), in.readInt(), in.readInt(), in.readUTF(), in.readLong());
            case 3 -> new Refusal(in.readBoolean(), in.readUTF());
            case 4 -> {
              List<Integer> missing = new ArrayList<>();
              for (int left = in.readInt(); left != 0; left--) {
                missing.add(in.readInt());
              }
              yield new Waiting(missing);
            }
            case 5 -> new Part(in.readInt(), in.readUTF(), in.readAllBytes());
            case 6 -> new Broken(in.readUTF());
            case 7 -> new Bye();
            case 8 ->
                new Response(exactly(in, Secret.CHALLENGE_BYTES), exactly(in, Secret.PROOF_BYTES));
            case 9 -> new Confirmation(exactly(in, Secret.PROOF_BYTES));
            default -> throw new ProtocolException("a message of no known kind");
          };
      if (in.available() > 0) {
        throw new ProtocolException("a message with bytes to spare");
      }
      return message;
    } catch (ProtocolException e) {
      throw e;
    } catch (IOException _) {
      throw new ProtocolException("a message cut short");
    }
  }

  private static byte[] exactly(DataInputStream in, int count) throws IOException {
    byte[] bytes = new byte[count];
    in.readFully(bytes);
    return bytes;
  }

  private static int version(DataInputStream in) throws IOException {
    if (in.readInt() != MAGIC) {
      throw new ProtocolException("a message not of Verbena");
    }
    return in.readInt();
  }

  private static String shortened(String reason) {
    return reason.length() <= 4000 ? reason : reason.substring(0, 4000) + "…";
  }
}
