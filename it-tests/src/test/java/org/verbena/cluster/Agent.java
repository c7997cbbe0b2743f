package org.verbena.cluster;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import org.jspecify.annotations.Nullable;

/**
 * The resident Java process of a node. It reads tasks from standard input, runs each in a thread of
 * its own and writes the results to standard output. It ends with its standard input.
 *
 * <p>A message, both ways: number of the task (long), length (int), serialized object.
 */
final class Agent {
  /** What comes back: a value, or why there is none. */
  record Answer(@Nullable Object value, @Nullable Throwable failure) implements Serializable {}

  private final DataOutputStream out;

  private Agent(DataOutputStream out) {
    this.out = out;
  }

  public static void main(String[] args) throws IOException {
    Agent agent = new Agent(new DataOutputStream(new FileOutputStream(FileDescriptor.out)));
    // What tasks print must not mix with the messages.
    System.setOut(System.err);
    try (DataInputStream in = new DataInputStream(System.in)) {
      while (true) {
        long number = in.readLong();
        byte[] task = in.readNBytes(in.readInt());
        Thread.ofPlatform().daemon().name("task-" + number).start(() -> agent.run(number, task));
      }
    } catch (EOFException _) {
      System.exit(0);
    }
  }

  private void run(long number, byte[] task) {
    Answer answer;
    try {
      answer = new Answer(((Task<?>) read(task)).call(), null);
    } catch (Throwable e) {
      answer = new Answer(null, e);
    }
    byte[] bytes;
    try {
      bytes = bytes(answer);
    } catch (IOException e) {
      bytes = plainBytes(answer, e);
    }
    try {
      send(out, number, bytes);
    } catch (IOException e) {
      // Nobody is left to tell.
      e.printStackTrace();
      System.exit(1);
    }
  }

  /** An answer that cannot be serialized becomes its text. */
  private static byte[] plainBytes(Answer answer, IOException why) {
    Throwable failure = answer.failure();
    String text = failure == null ? "The result cannot be serialized: " + why : failure.toString();
    IllegalStateException plain = new IllegalStateException(text);
    if (failure != null) {
      plain.setStackTrace(failure.getStackTrace());
    }
    try {
      return bytes(new Answer(null, plain));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  static void send(DataOutputStream out, long number, byte[] bytes) throws IOException {
    ByteArrayOutputStream message = new ByteArrayOutputStream();
    DataOutputStream data = new DataOutputStream(message);
    data.writeLong(number);
    data.writeInt(bytes.length);
    data.write(bytes);
    synchronized (out) {
      message.writeTo(out);
      out.flush();
    }
  }

  static byte[] bytes(Object object) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(object);
    }
    return bytes.toByteArray();
  }

  static Object read(byte[] bytes) throws IOException, ClassNotFoundException {
    try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
      return in.readObject();
    }
  }
}
