package org.verbena.bootstrap;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.net.ProtocolException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/** Messages to and from one process, over a channel that never blocks. Not thread-safe. */
final class Connection implements Closeable {
  private static final int FIRST_BUFFER_BYTES = 8 << 10;

  private final SocketChannel channel;
  private final SelectionKey key;
  private final String peer;
  private final Queue<ByteBuffer> unsent = new ArrayDeque<>();
  private ByteBuffer received = ByteBuffer.allocate(FIRST_BUFFER_BYTES);
  private int reading = SelectionKey.OP_READ;
  private int maxBytes = Message.MAX_STRANGER_BYTES;

  Connection(SocketChannel channel, Selector selector) throws IOException {
    this.channel = channel;
    this.peer = String.valueOf(channel.getRemoteAddress()).replaceFirst("^[^/]*/", "");
    channel.configureBlocking(false);
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true); // small messages, each awaited
    this.key = channel.register(selector, SelectionKey.OP_READ, this);
  }

  /** The address of the other side, for messages. */
  String peer() {
    return peer;
  }

  /** From now on the other side may send large messages. */
  void trust() {
    maxBytes = Message.MAX_BYTES;
  }

  /** Sends as much as goes without waiting; {@link #flush} sends the rest. */
  void send(Message message) throws IOException {
    send(Message.encode(message));
  }

  /** The same with a frame that is already made; its position is the connection's from now on. */
  void send(ByteBuffer frame) throws IOException {
    unsent.add(frame);
    flush();
  }

  /** Whether the selector shall report what arrives; it does unless told otherwise. */
  void listen(boolean on) {
    reading = on ? SelectionKey.OP_READ : 0;
  }

  /** Whether all was handed to the system. */
  boolean flush() throws IOException {
    if (!channel.isOpen()) {
      throw new ClosedChannelException();
    }
    for (ByteBuffer head = unsent.peek(); head != null; head = unsent.peek()) {
      channel.write(head);
      if (head.hasRemaining()) {
        key.interestOps(reading | SelectionKey.OP_WRITE);
        return false;
      }
      unsent.remove();
    }
    key.interestOps(reading);
    return true;
  }

  /**
   * The next message, or null if it has not arrived yet.
   *
   * @throws EOFException if the other side has ended the connection
   * @throws ProtocolException if what arrived is not a message
   */
  @Nullable Message poll() throws IOException {
    Message message = take();
    while (message == null) {
      int count = channel.read(received);
      if (count < 0) {
        throw new EOFException("the other side ended the connection");
      }
      if (count == 0) {
        return null;
      }
      message = take();
    }
    return message;
  }

  /** Takes a message out of what was received, or makes room for the rest of it. */
  private @Nullable Message take() throws ProtocolException {
    if (received.position() < Integer.BYTES) {
      return null;
    }
    int length = received.getInt(0);
    if (length < 1 || length > maxBytes) {
      throw new ProtocolException("a message not of Verbena");
    }
    int end = Integer.BYTES + length;
    if (received.position() < end) {
      if (received.capacity() < end) {
        received = ByteBuffer.allocate(end).put(received.flip());
      }
      return null;
    }
    byte[] frame = new byte[length];
    received.get(Integer.BYTES, frame);
    received.limit(received.position()).position(end).compact();
    return Message.decode(frame);
  }

  /** Ends the connection; what was handed to the system still arrives. */
  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException _) {
      // it is gone either way
    }
  }
}
