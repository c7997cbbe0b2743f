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
 * <p>Rank 0 speaks first: {@link Greeting}, then the other answers with {@link Hello}. A challenge
 * and its answer can so be added to these two before anything about the group is said.
 */
sealed interface Message {
  /** The version of these messages and of their order. */
  int VERSION = 1;

  /** The most bytes that a frame has before its sender is known to be a member. */
  int MAX_STRANGER_BYTES = 8 << 10;

  /** The most bytes of any frame. */
  int MAX_BYTES = Group.MAX_PART_BYTES + (64 << 10);

  /** The first bytes of the fields of greeting and hello: "VRBN". */
  int MAGIC = 0x5652424E;

  /** Rank 0, at once to whoever connects. */
  record Greeting(int version) implements Message {}

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
        case Greeting(int version) -> {
          out.writeByte(1);
          out.writeInt(MAGIC);
          out.writeInt(version);
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
            case 1 -> new Greeting(version(in));
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
