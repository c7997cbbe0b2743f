package org.verbena.cluster;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.async.ResultCallback;
import com.github.dockerjava.api.command.InspectContainerResponse.ContainerState;
import com.github.dockerjava.api.exception.DockerException;
import com.github.dockerjava.api.model.Frame;
import com.github.dockerjava.api.model.StreamType;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.jspecify.annotations.Nullable;

/**
 * One RDMA host of the cluster: a container with a network namespace, an rxe device and a Java
 * process of its own. Safe for use by several threads.
 */
public final class Node {
  /** The deadline where none is given. */
  public static final Duration DEADLINE = Duration.ofMinutes(2);

  /** The exit code of a process that was killed. */
  public static final int KILLED = 137;

  private static final String CUT_OFF =
      "tc qdisc add dev eth0 clsact"
          + " && tc filter add dev eth0 ingress matchall action drop"
          + " && tc filter add dev eth0 egress matchall action drop";
  private static final String UNDO_NETWORK =
      "tc qdisc del dev eth0 clsact 2>/dev/null; tc qdisc del dev eth0 root 2>/dev/null; true";

  private final DockerClient client;
  private final String name;
  private final String container;
  private final Path logs;
  private @Nullable AgentClient agent;
  private @Nullable RdmaDevice device;
  private boolean disturbed;

  Node(DockerClient client, String name, String container, Path logs) {
    this.client = client;
    this.name = name;
    this.container = container;
    this.logs = logs;
  }

  /** The host name, which all nodes of the cluster resolve. */
  public String name() {
    return name;
  }

  /** The id of the container. */
  String container() {
    return container;
  }

  /** This node's own device. */
  public synchronized RdmaDevice device() {
    if (device == null) {
      device = awaitDevice();
    }
    return device;
  }

  /** Runs a command with {@link #DEADLINE}. */
  public ExecResult exec(String... command) {
    return exec(DEADLINE, command);
  }

  /**
   * Runs a command and waits for its end. Past the deadline the command is killed and the exit code
   * is {@link ExecResult#TIMED_OUT}.
   */
  public ExecResult exec(Duration deadline, String... command) {
    List<String> limited =
        new ArrayList<>(
            List.of(
                "timeout", "--kill-after=2", String.valueOf(Math.max(1, deadline.toSeconds()))));
    limited.addAll(List.of(command));
    String text = name + ": " + String.join(" ", command);
    long start = System.nanoTime();
    try (CapturedOutput output = new CapturedOutput()) {
      String exec =
          client
              .execCreateCmd(container)
              .withAttachStdout(true)
              .withAttachStderr(true)
              .withCmd(limited.toArray(String[]::new))
              .exec()
              .getId();
      client.execStartCmd(exec).exec(output);
      // The command ends by itself; only a dead engine or a stopped node makes this wait.
      if (!output.awaitCompletion(deadline.toSeconds() + 30, TimeUnit.SECONDS)) {
        throw new ClusterException(text + ": no end after its deadline of " + deadline);
      }
      Long exitCode = client.inspectExecCmd(exec).exec().getExitCodeLong();
      if (exitCode == null) {
        throw new ClusterException(text + ": no exit code; was the node killed?");
      }
      // A command that ignores the first signal is killed, and timeout(1) then ends with 137.
      boolean timedOut = exitCode == KILLED && System.nanoTime() - start >= deadline.toNanos();
      return new ExecResult(
          text, timedOut ? ExecResult.TIMED_OUT : exitCode, output.stdout(), output.stderr());
    } catch (DockerException | IOException e) {
      throw new ClusterException(text + ": " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException(text + ": interrupted", e);
    }
  }

  /**
   * Starts a command and takes what it prints as it comes.
   *
   * @param environment variables besides the node's own
   * @param output takes what is printed, piece by piece, and whether to standard error
   * @return the exit code; {@link #KILLED} too if the node is killed
   */
  public CompletableFuture<Integer> start(
      Map<String, String> environment, BiConsumer<Boolean, byte[]> output, String... command) {
    String exec =
        client
            .execCreateCmd(container)
            .withAttachStdout(true)
            .withAttachStderr(true)
            .withEnv(
                environment.entrySet().stream()
                    .map(variable -> variable.getKey() + "=" + variable.getValue())
                    .toList())
            .withCmd(command)
            .exec()
            .getId();
    CompletableFuture<Integer> end = new CompletableFuture<>();
    client
        .execStartCmd(exec)
        .exec(
            new ResultCallback.Adapter<Frame>() {
              @Override
              public void onNext(Frame frame) {
                output.accept(frame.getStreamType() == StreamType.STDERR, frame.getPayload());
              }

              @Override
              public void onComplete() {
                super.onComplete();
                // Not in the thread of the stream that ends: its requests are cancelled.
                Thread.ofVirtual().start(() -> end.complete(exitCode(exec)));
              }

              @Override
              public void onError(Throwable error) {
                super.onError(error);
                Thread.ofVirtual().start(() -> end.complete(exitCode(exec)));
              }
            });
    return end;
  }

  private int exitCode(String exec) {
    try {
      Long exitCode = client.inspectExecCmd(exec).exec().getExitCodeLong();
      return exitCode == null ? KILLED : Math.toIntExact(exitCode);
    } catch (DockerException _) {
      return KILLED;
    }
  }

  /** Whether the node's processor is emulated by software. */
  public boolean isEmulated() {
    return exec("grep", "-q", "QEMU TCG", "/proc/cpuinfo").exitCode() == 0;
  }

  /** Copies a file or folder of this host to the same place in the node. */
  public void put(Path path) {
    Path folder = path.toAbsolutePath().getParent();
    if (folder == null) {
      throw new IllegalArgumentException(path + " is not in a folder");
    }
    exec("mkdir", "-p", folder.toString()).orThrow();
    client
        .copyArchiveToContainerCmd(container)
        .withRemotePath(folder.toString())
        .withHostResource(path.toAbsolutePath().toString())
        .exec();
  }

  /** Copies a file of the node to the same place on this host. */
  public void get(Path path) throws IOException {
    try (InputStream in = client.copyArchiveFromContainerCmd(container, path.toString()).exec();
        TarArchiveInputStream tar = new TarArchiveInputStream(in)) {
      tar.getNextEntry();
      Files.copy(tar, path, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  /** Runs a command in the background, for example the server of a pair. */
  public CompletableFuture<ExecResult> execAsync(Duration deadline, String... command) {
    CompletableFuture<ExecResult> result = new CompletableFuture<>();
    Thread.ofVirtual()
        .start(
            () -> {
              try {
                result.complete(exec(deadline, command));
              } catch (RuntimeException e) {
                result.completeExceptionally(e);
              }
            });
    return result;
  }

  /** Runs a task in the node's Java process with {@link #DEADLINE}. */
  public <R> R call(Task<R> task) {
    return call(DEADLINE, task);
  }

  /**
   * Runs a task in the node's Java process and waits for its result.
   *
   * @throws ClusterException with what the task threw as its cause, or if the deadline passes or
   *     the process dies
   */
  public <R> R call(Duration deadline, Task<R> task) {
    try {
      return submit(task).get(deadline.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      throw new ClusterException(name + ": the task failed: " + e.getCause(), e.getCause());
    } catch (TimeoutException e) {
      throw new ClusterException(name + ": the task has no result after " + deadline, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException(name + ": interrupted", e);
    }
  }

  /** Starts a task in the node's Java process, which is started where it does not run. */
  public <R> CompletableFuture<R> submit(Task<R> task) {
    return agent().submit(task);
  }

  /** Sends a signal, such as STOP, CONT or KILL, to the node's Java process; the host goes on. */
  public void signalJava(String signal) {
    // In brackets, so that the pattern does not match the command line that carries it.
    exec("pkill", "-" + signal, "-f", "[o]rg.verbena.cluster.Agent").orThrow();
  }

  /** Stops every process of the node, as SIGSTOP does. Its kernel goes on answering. */
  public void stop() {
    disturb();
    client.pauseContainerCmd(container).exec();
  }

  /** Lets a stopped node go on. */
  public void cont() {
    client.unpauseContainerCmd(container).exec();
  }

  /** Kills the node: all its processes, its device and its network end at once. */
  public void kill() {
    disturb();
    client.killContainerCmd(container).exec();
    forget();
  }

  /**
   * Disturbs what the node sends.
   *
   * @param netem arguments of {@code tc qdisc ... netem}, such as {@code "delay", "5ms"}
   */
  public void slow(String... netem) {
    disturb();
    List<String> command =
        new ArrayList<>(List.of("tc", "qdisc", "replace", "dev", "eth0", "root", "netem"));
    command.addAll(List.of(netem));
    exec(command.toArray(String[]::new)).orThrow();
  }

  /** Cuts the node off: what it sends and what it is sent is dropped in silence. */
  public void cutOff() {
    disturb();
    exec("sh", "-c", CUT_OFF).orThrow();
  }

  /** Undoes every fault and returns once the node's device can be used. */
  public void bringBack() {
    ContainerState state = client.inspectContainerCmd(container).exec().getState();
    if (Boolean.TRUE.equals(state.getPaused())) {
      cont();
    }
    if (!Boolean.TRUE.equals(state.getRunning())) {
      client.startContainerCmd(container).exec();
    }
    exec("sh", "-c", UNDO_NETWORK).orThrow();
    synchronized (this) {
      device = null;
      disturbed = false;
    }
    device();
  }

  /** Brings the node back if a fault was put on it. */
  void heal() {
    boolean needed;
    synchronized (this) {
      needed = disturbed;
    }
    if (needed) {
      bringBack();
    }
  }

  /** Puts this build in the node. */
  void upload(Build build) {
    Process tar = build.tar();
    try (InputStream in = tar.getInputStream()) {
      client.copyArchiveToContainerCmd(container).withRemotePath("/").withTarInputStream(in).exec();
    } catch (IOException | DockerException e) {
      throw new ClusterException(name + ": the build cannot be put there: " + e.getMessage(), e);
    }
  }

  /** Writes the node's own messages beside those of its Java process. */
  void keepLogs(Path folder) {
    try (CapturedOutput output = new CapturedOutput()) {
      client
          .logContainerCmd(container)
          .withStdOut(true)
          .withStdErr(true)
          .withTailAll()
          .exec(output)
          .awaitCompletion(20, TimeUnit.SECONDS);
      Files.writeString(folder.resolve(name + ".log"), output.stdout() + output.stderr());
      Path java = javaLog();
      if (Files.exists(java)) {
        Files.writeString(folder.resolve(java.getFileName()), Files.readString(java));
      }
    } catch (IOException | DockerException e) {
      System.err.println("cluster: no logs of " + name + ": " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  synchronized void close() {
    forget();
  }

  private synchronized void disturb() {
    disturbed = true;
  }

  private synchronized void forget() {
    device = null;
    if (agent != null) {
      agent.close();
      agent = null;
    }
  }

  private Path javaLog() {
    return logs.resolve(name + "-java.log");
  }

  private RdmaDevice awaitDevice() {
    ExecResult result =
        exec(
            Duration.ofSeconds(90),
            "sh",
            "-c",
            "until [ -e /run/rdma-device ]; do sleep 0.1; done; cat /run/rdma-device");
    return RdmaDevice.parse(result.orThrow().stdout());
  }

  private synchronized AgentClient agent() {
    if (agent == null || agent.hasEnded()) {
      agent = startAgent();
    }
    return agent;
  }

  /** What Java needs in this node. */
  List<String> javaOptions() {
    // Under software emulation freshly patched code has crashed the default tiers. The first one
    // alone knows no vectors: with them, a sum of rows takes thousands of calls.
    return List.of(isEmulated() ? "-XX:TieredStopAtLevel=1" : "--add-modules=jdk.incubator.vector");
  }

  private AgentClient startAgent() {
    List<String> command = new ArrayList<>(List.of("java"));
    command.addAll(javaOptions());
    command.addAll(
        List.of(
            "-XX:+UseSerialGC",
            "-XX:ErrorFile=/tmp/java-error.log",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            Build.classPathInNode(),
            Agent.class.getName()));
    try {
      OutputStream log =
          new BufferedOutputStream(
              Files.newOutputStream(
                  javaLog(), StandardOpenOption.CREATE, StandardOpenOption.APPEND));
      String exec =
          client
              .execCreateCmd(container)
              .withAttachStdin(true)
              .withAttachStdout(true)
              .withAttachStderr(true)
              .withCmd(command.toArray(String[]::new))
              .exec()
              .getId();
      AgentClient started = new AgentClient(name);
      client
          .execStartCmd(exec)
          .withStdIn(started.stdin())
          .exec(started.output(log, () -> Thread.ofVirtual().start(() -> end(started, exec))));
      return started;
    } catch (IOException | DockerException e) {
      throw new ClusterException(name + ": its Java process cannot be started", e);
    }
  }

  /** Not in the thread of the stream that ends: requests of that thread are cancelled. */
  private void end(AgentClient ended, String exec) {
    if (!ended.hasEnded()) {
      ended.end(whyEnded(exec));
    }
  }

  private String whyEnded(String exec) {
    String how;
    try {
      how = "exit code " + client.inspectExecCmd(exec).exec().getExitCodeLong();
      ExecResult crash = exec("head", "-n", "60", "/tmp/java-error.log");
      if (crash.exitCode() == 0) {
        how += "\n" + crash.stdout();
      }
    } catch (DockerException | ClusterException e) {
      how = String.valueOf(e.getMessage());
    }
    return name + ": its Java process has ended, see " + javaLog() + ": " + how;
  }
}
