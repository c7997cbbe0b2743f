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
import org.verbena.collective.Way;
import org.verbena.transport.TransportProvider;
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
  private static final int RANKS_HERE = 4;

  @Parameters(arity = "1..*", paramLabel = "FILE", description = "What is sent.")
  private List<Path> files;

  @Mixin private TransportOptions transport;
  @Mixin private ClusterOptions cluster;
  @Mixin private SecretOptions secret;

  @Option(
      names = "--ranks",
      paramLabel = "R",
      description = "Processes, the sender included (default: 4, or one on each node).")
  private @Nullable Integer ranks;

  @ArgGroup private @Nullable Shape shape;

  /** The way from rank to rank. */
  private static final class Shape {
    @Option(
        names = "--chain",
        description = "Each rank passes on to one other (the default between hosts).")
    private boolean chain;

    @Option(names = "--tree", description = "Each rank passes on to two others.")
    private boolean tree;

    @Option(names = "--star", description = "Rank 0 sends to all others (the default on one host).")
    private boolean star;

    Way way() {
      return star ? Way.STAR : tree && !chain ? Way.TREE : Way.CHAIN;
    }
  }

  @Option(names = "--to", paramLabel = "DIR", description = "The folder of the ranks' folders.")
  private @Nullable Path folder;

  @Option(
      names = "--chunk",
      defaultValue = "512",
      paramLabel = "KIB",
      description = "KiB that are sent and checked as one (default: ${DEFAULT-VALUE}).")
  private int chunk;

  @Option(
      names = "--timeout",
      paramLabel = "S",
      description = "Seconds to wait for a rank before it is given up (default: 30; 120 on nodes).")
  private @Nullable Integer timeout;

  @Option(names = "--join", description = "Be one rank of the group that a launcher has started.")
  private boolean join;

  @Spec private CommandSpec spec;

  @Override
  public Integer call() throws IOException, InterruptedException {
    int count = ranks == null ? cluster.ranks(RANKS_HERE) : ranks;
    if (count < 1 || limit().toSeconds() < 1) {
      throw refused(
          "--ranks and --timeout must be at least 1, but are %d, %d"
              .formatted(count, limit().toSeconds()));
    }
    if (chunk < 1 || chunk > 1 << 20) {
      throw refused("--chunk must be 1 to " + (1 << 20) + " KiB, but is " + chunk);
    }
    return join ? take() : start(count);
  }

  private Duration limit() {
    return Duration.ofSeconds(timeout == null ? cluster.patienceSeconds() : timeout);
  }

  private int start(int count) throws IOException, InterruptedException {
    checkFiles();
    checkRoom(cluster.isChosen() ? 0 : count - 1);
    List<String> arguments = new ArrayList<>(List.of("sync", "--join"));
    arguments.add("--transport=" + transport.between(cluster.hosts(count), count));
    arguments.add("--chunk=" + chunk);
    arguments.add("--timeout=" + limit().toSeconds());
    if (shape != null) {
      arguments.add("--" + shape.way());
    }
    if (folder != null) {
      arguments.add("--to=" + folder.toAbsolutePath());
    }
    arguments.add("--");
    List<String> paths = new ArrayList<>();
    for (Path file : files) {
      paths.add(file.toRealPath().toString());
    }
    arguments.addAll(paths);
    return cluster.start(spec, count, arguments, 1, paths);
  }

  private ParameterException refused(String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  /** Refuses what can't be sent before any process is started. */
  private void checkFiles() throws IOException {
    Set<Path> names = new HashSet<>();
    for (Path file : files) {
      if (!Files.isRegularFile(file) || !Files.isReadable(file)) {
        throw refused(file + " is no regular file that can be read");
      }
      if (!names.add(file.toRealPath().getFileName())) {
        throw refused(file + ": two files of one name would take each other's place");
      }
    }
  }

  /** Refuses what so many receivers on this machine have no room for. */
  private void checkRoom(int receivers) throws IOException {
    if (receivers == 0) {
      return;
    }
    if (folder != null && !(Files.isDirectory(folder) && Files.isWritable(folder))) {
      throw refused(folder + " is no folder that can be written to");
    }
    long bytes = 0;
    for (Path file : files) {
      bytes = Math.addExact(bytes, Files.size(file));
    }
    long free = folder == null ? FreeMemory.bytes() : Files.getFileStore(folder).getUsableSpace();
    if (Math.multiplyExact(bytes, (long) receivers) > free) {
      throw refused(
          "%,d bytes for each of %d ranks do not fit: %s has %,d bytes free"
              .formatted(bytes, receivers, folder == null ? "memory" : folder, free));
    }
  }

  private int take() {
    return RankJob.join(
        spec,
        secret,
        limit(),
        (membership, group) -> {
          TransportProvider provider = transport.provider(membership);
          Way suitable = provider.isDirect() ? Way.STAR : Way.CHAIN;
          Way way = shape == null ? suitable : shape.way();
          new SyncRank(group, provider, way, files, folder, chunk << 10, limit()).run();
        });
  }
}
