package org.verbena.cli;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.verbena.bootstrap.Membership;
import org.verbena.bootstrap.Rendezvous;
import org.verbena.bootstrap.Secret;

/**
 * The ranks of a group as processes of this host, which live and end together.
 *
 * <p>Each rank leads a session of its own, in which a guard waits for the end of a pipe that only
 * this process holds, and then kills whatever is left of the session's process group. The kernel
 * closes the pipe however this process ends, SIGKILL included, and the group takes in the children
 * of the command too: a parent-death signal reaches neither them nor a command that changes its
 * user, and is bound to the thread that started it. A process that leaves its group, as daemons do,
 * escapes.
 */
final class RankProcesses implements AutoCloseable {
  /** How long a rank may take to end after SIGTERM before it is killed. */
  private static final long GRACE_SECONDS = 5;

  /** How long to read on when all are gone; only a process that has left its group writes then. */
  private static final long OUTPUT_MILLIS = 1000;

  /**
   * Starts the guard, then becomes the command. The guard is an orphan, so that the command has no
   * child that it does not know; its output is closed, so that it keeps no reader waiting.
   */
  private static final String GUARDED =
      "exec 3<&0; ( { read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 & );"
          + " exec \"$@\" </dev/null 3<&-";

  /** Takes the output of the ranks, from several threads. */
  @FunctionalInterface
  interface Output {
    /**
     * A line that a rank has printed.
     *
     * @param error whether to its standard error
     * @param line its bytes, without the line feed
     */
    void line(int rank, boolean error, byte[] line);
  }

  /** The end of a rank: 0, its exit code, or 128 and the number of the signal that ended it. */
  record End(int rank, int code) {}

  private final Path rendezvous;
  private final List<Process> processes = new CopyOnWriteArrayList<>();
  private final List<Thread> readers = new CopyOnWriteArrayList<>();
  private final BlockingQueue<End> ends = new LinkedBlockingQueue<>();

  private RankProcesses(Path rendezvous) {
    this.rendezvous = rendezvous;
  }

  /**
   * Starts a command once per rank. Each finds its {@link Membership} in its environment, with a
   * secret of this group alone, and the variables of torchrun besides. {@code MASTER_PORT} was free
   * a moment ago, which is all that can be said of it; groups of Verbena meet in a file instead.
   * When this process is ended in order, so are they.
   *
   * @throws IOException if a process cannot be started; none is left then
   */
  static RankProcesses start(int ranks, List<String> command, Output output) throws IOException {
    String job = UUID.randomUUID().toString();
    Path file = Path.of(System.getProperty("java.io.tmpdir"), "verbena-" + job + ".rendezvous");
    Secret secret = Secret.random();
    int masterPort = freePort();
    List<String> guarded = new ArrayList<>(List.of("setsid", "sh", "-c", GUARDED, "sh"));
    guarded.addAll(command);
    RankProcesses all = new RankProcesses(file);
    // Before the first of them, so that none is killed unasked where this process is ended early.
    Runtime.getRuntime().addShutdownHook(new Thread(all::close, "end of the ranks"));
    boolean started = false;
    try {
      for (int rank = 0; rank < ranks; rank++) {
        ProcessBuilder builder = new ProcessBuilder(guarded);
        Map<String, String> environment = builder.environment();
        environment.putAll(
            new Membership(
                    rank,
                    ranks,
                    OptionalInt.of(rank),
                    OptionalInt.of(ranks),
                    job,
                    new Rendezvous.InFile(file))
                .withSecret(secret)
                .toEnvironment());
        environment.put("RANK", String.valueOf(rank));
        environment.put("WORLD_SIZE", String.valueOf(ranks));
        environment.put("LOCAL_RANK", String.valueOf(rank));
        environment.put("LOCAL_WORLD_SIZE", String.valueOf(ranks));
        environment.put("MASTER_ADDR", "127.0.0.1");
        environment.put("MASTER_PORT", String.valueOf(masterPort));
        all.add(rank, builder.start(), output);
      }
      started = true;
      return all;
    } finally {
      if (!started) {
        all.close();
      }
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private void add(int rank, Process process, Output output) {
    processes.add(process);
    read(
        process.getInputStream(), "output of rank " + rank, line -> output.line(rank, false, line));
    read(process.getErrorStream(), "errors of rank " + rank, line -> output.line(rank, true, line));
    var _ = process.onExit().thenAccept(ended -> ends.add(new End(rank, ended.exitValue())));
  }

  private void read(InputStream stream, String name, Consumer<byte[]> sink) {
    readers.add(Thread.ofPlatform().name(name).daemon().start(() -> readLines(stream, sink)));
  }

  private static void readLines(InputStream stream, Consumer<byte[]> sink) {
    Lines lines = new Lines(sink);
    try (InputStream in = new BufferedInputStream(stream)) {
      for (int b = in.read(); b >= 0; b = in.read()) {
        lines.add(b);
      }
    } catch (IOException _) {
      // the process is gone; what it had printed was read
    }
    lines.end();
  }

  /** Waits until a rank fails or all have ended well; then ends those that still run, at once. */
  End await() throws InterruptedException {
    return await(Duration.ZERO);
  }

  /**
   * Waits until a rank fails or all have ended well, then {@linkplain #close ends} those that still
   * run.
   *
   * @param patience how long the others may take to end by themselves once one has failed
   * @return the end of the first rank that failed, else that of the last one
   */
  End await(Duration patience) throws InterruptedException {
    End end = ends.take();
    int ended = 1;
    while (end.code() == 0 && ended < processes.size()) {
      end = ends.take();
      ended++;
    }
    long deadline = System.nanoTime() + patience.toNanos();
    while (ended < processes.size()
        && ends.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS) != null) {
      ended++;
    }
    close();
    return end;
  }

  /**
   * Ends all ranks that still run, first by SIGTERM, and their children, and waits for the rest of
   * their output. Any thread may call.
   */
  @Override
  public void close() {
    // Not by Process.destroy, which closes the pipe of the guard and loses output.
    processes.forEach(process -> process.toHandle().destroy());
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(GRACE_SECONDS);
    try {
      for (Process process : processes) {
        process.waitFor(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
      }
      killAll();
      for (Thread reader : readers) {
        reader.join(OUTPUT_MILLIS);
      }
    } catch (InterruptedException _) {
      killAll();
      Thread.currentThread().interrupt();
    }
    try {
      Files.deleteIfExists(rendezvous);
    } catch (IOException _) {
      // a small file stays in the directory for temporary ones
    }
  }

  private void killAll() {
    for (Process process : processes) {
      try {
        process.getOutputStream().close();
      } catch (IOException _) {
        // nothing was ever written to it
      }
    }
  }
}
