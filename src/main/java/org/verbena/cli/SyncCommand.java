package org.verbena.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.verbena.collective.Route;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.rdma.MixedProvider;
import org.verbena.transport.rdma.RdmaProvider;
import org.verbena.transport.rdma.RdmaSettings;
import org.verbena.transport.shm.ShmTransport;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code verbena sync}: the contents of files from rank 0 to all other ranks. */
@Command(
    name = "sync",
    mixinStandardHelpOptions = true,
    description = {
      "Sends the contents of files from rank 0 to all other ranks, each of which passes them on.",
      "Every rank checks what it has by its checksum; all have everything, or none keeps anything.",
      "Rank r writes the files to DIR/rank<r>; without --to they are received in memory only."
    })
final class SyncCommand implements Callable<Integer> {
  private static final String FOLDER_IN_NODE = "/tmp/verbena-sync";

  @Parameters(arity = "1..*", paramLabel = "FILE", description = "What is sent.")
  private List<Path> files;

  @Mixin private SecretOptions secret;

  @ArgGroup private @Nullable Where where;

  /** Where the ranks are. */
  private static final class Where {
    @Option(
        names = "--ranks",
        paramLabel = "R",
        description = "Processes of this machine, the sender included (default: 4).")
    private int ranks = 4;

    @Option(
        names = "--cluster",
        description = "A process on each node of the cluster that 'cluster up' has brought up.")
    private boolean cluster;
  }

  @ArgGroup private @Nullable Shape shape;

  /** The way from rank to rank. */
  private static final class Shape {
    @Option(names = "--chain", description = "Each rank passes on to one other (the default).")
    private boolean chain;

    @Option(names = "--tree", description = "Each rank passes on to two others.")
    private boolean tree;
  }

  @Option(names = "--to", paramLabel = "DIR", description = "The folder of the ranks' folders.")
  private @Nullable Path folder;

  @Option(
      names = "--chunk",
      defaultValue = "256",
      paramLabel = "KIB",
      description = "KiB that are sent and checked as one (default: ${DEFAULT-VALUE}).")
  private int chunk;

  @Option(
      names = "--timeout",
      defaultValue = "30",
      paramLabel = "S",
      description = "Seconds to wait for a rank before it is given up (default: ${DEFAULT-VALUE}).")
  private int timeout;

  @Option(
      names = "--transport",
      paramLabel = "KIND",
      defaultValue = "shm",
      description = "With --join: shm, rdma or mixed (default: ${DEFAULT-VALUE}).")
  private String transport;

  @Option(names = "--join", description = "Be one rank of the group that a launcher has started.")
  private boolean join;

  @Spec private CommandSpec spec;

  @Override
  public Integer call() throws IOException, InterruptedException {
    int ranks = where == null ? 4 : where.ranks;
    if (ranks < 1 || timeout < 1) {
      throw refused("--ranks and --timeout must be at least 1, but are " + ranks + ", " + timeout);
    }
    if (chunk < 1 || chunk > 1 << 20) {
      throw refused("--chunk must be 1 to " + (1 << 20) + " KiB, but is " + chunk);
    }
    if (join) {
      return take();
    }
    boolean cluster = where != null && where.cluster;
    checkFiles(cluster ? 1 : ranks);
    List<String> arguments = new ArrayList<>(List.of("sync", "--join"));
    arguments.add("--chunk=" + chunk);
    arguments.add("--timeout=" + timeout);
    if (isTree()) {
      arguments.add("--tree");
    }
    if (folder != null) {
      arguments.add("--to=" + folder);
    }
    if (cluster) {
      return startOnCluster(arguments);
    }
    arguments.add("--");
    files.forEach(file -> arguments.add(file.toString()));
    return RankJob.start(ranks, arguments);
  }

  /** Brings the files to the first node, and lets it send them to the others by RDMA. */
  private int startOnCluster(List<String> arguments) throws IOException, InterruptedException {
    List<String> put = new ArrayList<>(List.of("put", FOLDER_IN_NODE));
    List<String> run = new ArrayList<>(List.of("ranks", "verbena"));
    run.addAll(arguments);
    run.add("--transport=rdma");
    run.add("--");
    for (Path file : files) {
      put.add(file.toRealPath().toString());
      run.add(FOLDER_IN_NODE + "/" + file.toRealPath().getFileName());
    }
    int code = ClusterProcess.run(spec, put);
    return code == ExitCode.OK ? ClusterProcess.run(spec, run) : code;
  }

  private boolean isTree() {
    return shape != null && shape.tree && !shape.chain;
  }

  private ParameterException refused(String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  /** Refuses what can't work before any process is started. */
  private void checkFiles(int ranks) throws IOException {
    Set<Path> names = new HashSet<>();
    long bytes = 0;
    for (Path file : files) {
      if (!Files.isRegularFile(file) || !Files.isReadable(file)) {
        throw refused(file + " is no regular file that can be read");
      }
      if (!names.add(file.toRealPath().getFileName())) {
        throw refused(file + ": two files of one name would take each other's place");
      }
      bytes = Math.addExact(bytes, Files.size(file));
    }
    long needed = Math.multiplyExact(bytes, ranks - 1L);
    if (ranks > 1 && folder != null && !Files.isDirectory(folder)) {
      throw refused(folder + " is no folder");
    }
    long free = folder == null ? FreeMemory.bytes() : Files.getFileStore(folder).getUsableSpace();
    if (needed > free) {
      throw refused(
          "%,d bytes for each of %d ranks do not fit: %s has %,d bytes free"
              .formatted(bytes, ranks - 1, folder == null ? "memory" : folder, free));
    }
  }

  private int take() {
    Duration limit = Duration.ofSeconds(timeout);
    TransportProvider provider =
        switch (transport) {
          case "shm" -> ShmTransport.provider();
          case "rdma" -> new RdmaProvider(RdmaSettings.fromEnvironment(System.getenv()));
          case "mixed" -> new MixedProvider(RdmaSettings.fromEnvironment(System.getenv()));
          default -> throw refused("--transport is shm, rdma or mixed, but is " + transport);
        };
    return RankJob.join(
        spec,
        secret,
        limit,
        (_, group) -> {
          Route route = isTree() ? Route.tree(group.size()) : Route.chain(group.size());
          new SyncRank(group, provider, route, files, folder, chunk << 10, limit).run();
        });
  }
}
