package org.verbena.cluster;

import com.github.dockerjava.api.async.ResultCallback;
import com.github.dockerjava.api.model.Frame;
import com.github.dockerjava.api.model.StreamType;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.Channels;
import java.nio.channels.Pipe;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * This end of a node's {@link Agent}. Safe for use by several threads.
 *
 * <p>Pipes of the system carry the bytes: Java's own piped streams break when the thread that wrote
 * last has ended.
 */
final class AgentClient implements AutoCloseable {
  private final String name;
  private final DataOutputStream requests;
  private final InputStream stdin;
  private final OutputStream answers;
  private final Map<Long, CompletableFuture<@Nullable Object>> pending = new ConcurrentHashMap<>();
  private final AtomicLong numbers = new AtomicLong();
  private volatile @Nullable String ended;

  AgentClient(String name) throws IOException {
    this.name = name;
    Pipe down = Pipe.open();
    Pipe up = Pipe.open();
    requests = new DataOutputStream(Channels.newOutputStream(down.sink()));
    stdin = Channels.newInputStream(down.source());
    answers = Channels.newOutputStream(up.sink());
    DataInputStream in = new DataInputStream(Channels.newInputStream(up.source()));
    Thread.ofPlatform().daemon().name(name + "-answers").start(() -> readAnswers(in));
  }

  /** What the agent reads. */
  InputStream stdin() {
    return stdin;
  }

  /** Takes what the agent writes; {@code log} gets its standard error. */
  ResultCallback<Frame> output(OutputStream log, Runnable atEnd) {
    return new ResultCallback.Adapter<>() {
      @Override
      public void onNext(Frame frame) {
        try {
          if (frame.getStreamType() == StreamType.STDOUT) {
            answers.write(frame.getPayload());
          } else {
            log.write(frame.getPayload());
            log.flush();
          }
        } catch (IOException e) {
          onError(e);
        }
      }

      @Override
      public void onComplete() {
        super.onComplete();
        atEnd.run();
      }

      @Override
      public void onError(Throwable e) {
        super.onError(e);
        atEnd.run();
      }
    };
  }

  boolean hasEnded() {
    return ended != null;
  }

  <R> CompletableFuture<R> submit(Task<R> task) {
    long number = numbers.incrementAndGet();
    CompletableFuture<@Nullable Object> answer = new CompletableFuture<>();
    pending.put(number, answer);
    try {
      Agent.send(requests, number, Agent.bytes(task));
    } catch (IOException e) {
      pending.remove(number);
      String why = ended;
      answer.completeExceptionally(
          new ClusterException(why != null ? why : name + ": the task could not be sent", e));
    }
    String why = ended;
    if (why != null) {
      answer.completeExceptionally(new ClusterException(why));
    }
    @SuppressWarnings("unchecked") // the agent answers with what the task returned
    CompletableFuture<R> typed = (CompletableFuture<R>) answer;
    return typed;
  }

  private void readAnswers(DataInputStream in) {
    try (in) {
      while (true) {
        long number = in.readLong();
        Agent.Answer answer = (Agent.Answer) Agent.read(in.readNBytes(in.readInt()));
        CompletableFuture<@Nullable Object> future = pending.remove(number);
        if (future != null) {
          Throwable failure = answer.failure();
          if (failure == null) {
            future.complete(answer.value());
          } else {
            future.completeExceptionally(failure);
          }
        }
      }
    } catch (IOException | ClassNotFoundException e) {
      end(name + ": the answers of its Java process cannot be read: " + e);
    }
  }

  /** Fails what is pending; nothing can be submitted any more. */
  void end(String why) {
    if (ended == null) {
      ended = why;
    }
    pending.forEach(
        (number, future) -> {
          pending.remove(number);
          future.completeExceptionally(new ClusterException(why));
        });
    // The agent's standard input ends with the pipe; to close its other end would interrupt a
    // reader.
    closeQuietly(requests);
    closeQuietly(answers);
  }

  @Override
  public void close() {
    end(name + ": closed");
  }

  private static void closeQuietly(Closeable closeable) {
    try {
      closeable.close();
    } catch (IOException e) {
      System.getLogger(AgentClient.class.getName()).log(System.Logger.Level.DEBUG, "close", e);
    }
  }
}
