package org.verbena.collective;

import static java.nio.channels.FileChannel.MapMode.READ_WRITE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.LongPredicate;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.verbena.acceptance.Ranks;
import org.verbena.bootstrap.Group;
import org.verbena.transport.PeerException;
import org.verbena.transport.TransportProvider;

/** What parameter sync must do over any transport. */
abstract class SyncContract extends Moves {
  private static final int CHUNK = 4096;

  /** None, less and more than a chunk, whole chunks, and one larger than the window. */
  private static final int[] SIZES = {5, 0, CHUNK, 3 * CHUNK + 1, 600_000, 0};

  @TempDir Path folder;

  private static CollectiveConfig.Builder sync() {
    return CollectiveConfig.builder().sync(3, CHUNK);
  }

  private static MemoryParameters memory(Arena arena) {
    MemoryParameters parameters = new MemoryParameters();
    for (int i = 0; i < SIZES.length; i++) {
      parameters.add("parameter " + i, arena.allocate(SIZES[i], 64));
    }
    return parameters;
  }

  private static byte[] content(MemoryParameters parameters) {
    int total = Arrays.stream(SIZES).sum();
    byte[] bytes = new byte[total];
    MemorySegment all = MemorySegment.ofArray(bytes);
    long at = 0;
    for (int i = 0; i < SIZES.length; i++) {
      parameters.read(i, 0, all, at, SIZES[i]);
      at += SIZES[i];
    }
    return bytes;
  }

  private static MemoryParameters filled(Arena arena, long seed) {
    MemoryParameters parameters = memory(arena);
    byte[] bytes = expected(seed);
    MemorySegment all = MemorySegment.ofArray(bytes);
    long at = 0;
    for (int i = 0; i < SIZES.length; i++) {
      parameters.write(i, 0, all, at, SIZES[i]);
      at += SIZES[i];
    }
    return parameters;
  }

  private static byte[] expected(long seed) {
    byte[] bytes = new byte[Arrays.stream(SIZES).sum()];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  private static int checksum(byte[] bytes) {
    CRC32C crc = new CRC32C();
    crc.update(bytes);
    return (int) crc.getValue();
  }

  /** Sends or receives, according to the place on the route; null where it is not on it. */
  private static SyncReport take(
      Collective collective, MemoryParameters parameters, Route route, SyncProgress progress) {
    return collective.rank() == route.source()
        ? collective.sync().send(parameters, route, progress)
        : collective.sync().receive(parameters, route, progress);
  }

  private static Route route(String kind, int ranks) {
    return kind.equals("chain") ? Route.chain(ranks) : Route.tree(ranks);
  }

  @ParameterizedTest
  @CsvSource({"1, chain", "2, chain", "3, tree", "5, chain", "5, tree"})
  void allRanksGetEveryByte(int ranks, String kind) throws Exception {
    run(
        ranks,
        sync(),
        (group, collective) -> {
          assertThat(collective.layout().bytes()).isLessThan(SIZES[4]);
          try (Arena arena = Arena.ofShared()) {
            boolean source = group.rank() == 0;
            MemoryParameters parameters = source ? filled(arena, 1) : memory(arena);
            List<Long> passed = new ArrayList<>();
            SyncReport report =
                take(
                    collective,
                    parameters,
                    route(kind, ranks),
                    (bytes, total) -> {
                      assertThat(total).isEqualTo(expected(1).length);
                      passed.add(bytes);
                    });
            assertThat(content(parameters)).isEqualTo(expected(1));
            assertThat(parameters.isWhole()).isTrue();
            assertThat(report)
                .isEqualTo(new SyncReport(expected(1).length, checksum(expected(1)), 0));
            assertThat(passed).isSorted().doesNotHaveDuplicates().endsWith(report.bytes());
          }
        });
  }

  /** The source changes from sync to sync, and not every rank takes part in each. */
  @Test
  void routesMayChangeFromSyncToSync() throws Exception {
    List<Route> routes =
        List.of(
            new Route(List.of(0, 1, 2, 3), 1, Move.WRITE),
            new Route(List.of(2, 1), 1, Move.WRITE),
            new Route(List.of(3, 0), 1, Move.READ),
            new Route(List.of(1, 3, 0), 2, Move.WRITE),
            new Route(List.of(2, 3, 0, 1), 3, Move.READ),
            new Route(List.of(3, 2, 1, 0), 1, Move.WRITE));
    run(
        4,
        sync(),
        (group, collective) -> {
          for (int i = 0; i < 2 * routes.size(); i++) {
            Route route = routes.get(i % routes.size());
            if (route.ranks().contains(group.rank())) {
              try (Arena arena = Arena.ofShared()) {
                boolean source = group.rank() == route.source();
                MemoryParameters parameters = source ? filled(arena, i) : memory(arena);
                take(collective, parameters, route, SyncProgress.NONE);
                assertThat(content(parameters)).isEqualTo(expected(i));
              }
            }
          }
        });
  }

  /** Rank 3 was not there when the others got theirs; it reads from one that has them. */
  @Test
  void aRankThatComesLatePulls() throws Exception {
    run(
        4,
        sync(),
        (group, collective) -> {
          try (Arena arena = Arena.ofShared()) {
            MemoryParameters parameters = group.rank() == 0 ? filled(arena, 7) : memory(arena);
            if (group.rank() < 3) {
              take(collective, parameters, Route.chain(3), SyncProgress.NONE);
            }
            group.allGather("rank 3 comes", new byte[0]);
            if (group.rank() == 2 || group.rank() == 3) {
              take(collective, parameters, Route.pull(2, 3), SyncProgress.NONE);
            }
            assertThat(content(parameters)).isEqualTo(expected(7));
          }
        });
  }

  private void runDamaged(int rank, LongPredicate which, Move move, DamagedPart part)
      throws Exception {
    // The last rank may take chunks where the one before it has them: that one writes nothing.
    Route route = new Route(List.of(0, 1, 2, 3), 1, move);
    TransportProvider damaging = DamagingTransport.provider(provider(), rank, which);
    Ranks.run(
        4,
        group -> {
          try (Collective collective = open(group, damaging, sync());
              Arena arena = Arena.ofShared()) {
            MemoryParameters parameters = group.rank() == 0 ? filled(arena, 3) : memory(arena);
            part.run(group, collective, parameters, route);
            group.allGather("end of test", new byte[0]);
          }
        });
  }

  private interface DamagedPart {
    void run(Group group, Collective collective, MemoryParameters parameters, Route route)
        throws Exception;
  }

  @ParameterizedTest
  @EnumSource(Move.class)
  void aDamagedChunkIsSentAgain(Move move) throws Exception {
    // The second rank writes to the third, or reads from the first.
    int damagedAt = move == Move.WRITE ? 2 : 1;
    runDamaged(
        1,
        count -> count % 10 == 3 || count % 50 == 44,
        move,
        (group, collective, parameters, route) -> {
          SyncReport report = take(collective, parameters, route, SyncProgress.NONE);
          assertThat(content(parameters)).isEqualTo(expected(3));
          if (group.rank() == damagedAt) {
            assertThat(report.repeated()).isGreaterThan(10);
          } else {
            assertThat(report.repeated()).isZero();
          }
        });
  }

  @ParameterizedTest
  @EnumSource(Move.class)
  void aChunkThatIsAlwaysDamagedEndsTheSyncOnAllRanks(Move move) throws Exception {
    int damagedAt = move == Move.WRITE ? 2 : 1;
    runDamaged(
        1,
        count -> count >= 20,
        move,
        (group, collective, parameters, route) -> {
          assertThatThrownBy(() -> take(collective, parameters, route, SyncProgress.NONE))
              .isInstanceOfSatisfying(
                  SyncException.class, e -> assertThat(e.rank()).isEqualTo(damagedAt))
              .hasMessageContaining("arrived damaged from rank " + (damagedAt - 1) + ", 5 times");
          assertThat(parameters.isWhole()).isEqualTo(group.rank() == 0);
          assertThatThrownBy(() -> take(collective, parameters, route, SyncProgress.NONE))
              .isInstanceOf(IllegalStateException.class)
              .hasMessageContaining("can only be closed");
        });
  }

  /** Parameters in memory, of which something goes wrong. */
  private static final class Failing implements ParameterSource, ParameterTarget {
    private final MemoryParameters parameters;
    private final String failing;

    Failing(MemoryParameters parameters, String failing) {
      this.parameters = parameters;
      this.failing = failing;
    }

    private void at(String step) throws IOException {
      if (step.equals(failing)) {
        throw new IOException("planted at " + step);
      }
      if (failing.equals("unchecked " + step)) {
        throw new IllegalStateException("planted at " + step);
      }
    }

    @Override
    public List<Parameter> parameters() {
      return parameters.parameters();
    }

    @Override
    public void read(int parameter, long offset, MemorySegment to, long at, int bytes)
        throws IOException {
      if (parameter == 4 && offset == 100L * CHUNK) {
        at("read");
      }
      parameters.read(parameter, offset, to, at, bytes);
    }

    @Override
    public void verify(int checksum) throws IOException {
      at("verify");
    }

    @Override
    public void begin(List<Parameter> coming) throws IOException {
      at("begin");
      parameters.begin(coming);
    }

    @Override
    public void write(int parameter, long offset, MemorySegment from, long at, int bytes)
        throws IOException {
      if (parameter == 4 && offset == 100L * CHUNK) {
        at("write");
      }
      parameters.write(parameter, offset, from, at, bytes);
    }

    @Override
    public void finish(int checksum) throws IOException {
      at("finish");
    }

    @Override
    public void commit() {
      parameters.commit();
    }

    @Override
    public void abort() {
      parameters.abort();
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"read", "verify", "begin", "write", "finish", "unchecked read", "unchecked write"})
  void whatGoesWrongOnOneRankIsReportedOnAllAndNoTargetKeepsAnything(String step) throws Exception {
    int culprit = step.endsWith("read") || step.equals("verify") ? 0 : 2;
    run(
        4,
        sync(),
        (group, collective) -> {
          try (Arena arena = Arena.ofShared()) {
            MemoryParameters parameters = group.rank() == 0 ? filled(arena, 3) : memory(arena);
            String planted = group.rank() == culprit ? step : "";
            Failing failing = new Failing(parameters, planted);
            Route route = Route.tree(4);
            assertThatThrownBy(
                    () -> {
                      if (group.rank() == 0) {
                        collective.sync().send(failing, route, SyncProgress.NONE);
                      } else {
                        collective.sync().receive(failing, route, SyncProgress.NONE);
                      }
                    })
                .isInstanceOfAny(SyncException.class, IllegalStateException.class)
                .hasMessageContaining("planted at " + step.replace("unchecked ", ""))
                .satisfies(
                    e -> {
                      if (group.rank() != culprit) {
                        assertThat(e)
                            .isInstanceOf(SyncException.class)
                            .hasMessageContaining("given up by rank " + culprit);
                      }
                    });
            // One that refused to begin has kept what it had.
            boolean refused = group.rank() == culprit && step.equals("begin");
            if (group.rank() > 0 && !refused && !step.equals("begin")) {
              assertThat(parameters.isWhole()).isFalse();
            }
          }
        });
  }

  @Test
  void targetsMustFitTheSource() throws Exception {
    run(
        2,
        sync(),
        (group, collective) -> {
          try (Arena arena = Arena.ofShared()) {
            MemoryParameters parameters =
                group.rank() == 0
                    ? memory(arena)
                    : new MemoryParameters().add("parameter 0", arena.allocate(6));
            assertThatThrownBy(
                    () -> take(collective, parameters, Route.chain(2), SyncProgress.NONE))
                .isInstanceOf(SyncException.class)
                .hasMessageContaining("the source has 6 parameters, the target 1")
                .hasMessageContaining("bytes=5")
                .hasMessageContaining("bytes=6");
          }
        });
  }

  @ParameterizedTest
  @CsvSource({"chain, 1", "chain, 3", "tree, 1", "tree, 2"})
  void aLostRankIsReportedByAllAndNoTargetKeepsAnything(String kind, int lost) throws Exception {
    run(
        4,
        sync(),
        (group, collective) -> {
          try (Arena arena = Arena.ofShared()) {
            MemoryParameters parameters = group.rank() == 0 ? filled(arena, 3) : memory(arena);
            SyncProgress progress =
                (bytes, total) -> {
                  if (group.rank() == lost && bytes > total / 2) {
                    lose(collective);
                    throw new IllegalStateException("lost");
                  }
                };
            assertThatThrownBy(() -> take(collective, parameters, route(kind, 4), progress))
                .satisfies(
                    e -> {
                      if (group.rank() != lost) {
                        assertThat(e).isInstanceOf(PeerException.class);
                        assertThat(((PeerException) e).peer()).isEqualTo(lost);
                      }
                    });
            assertThat(parameters.isWhole()).isEqualTo(group.rank() == 0);
          }
        });
  }

  @Test
  void onlyWhoIsOnTheRouteTakesPart() throws Exception {
    run(
        2,
        sync(),
        (group, collective) -> {
          MemoryParameters none = new MemoryParameters();
          ParameterSync sync = collective.sync();
          assertThatThrownBy(() -> sync.send(none, Route.chain(3), SyncProgress.NONE))
              .isInstanceOf(IllegalArgumentException.class)
              .hasMessageContaining("the route has rank 2, the group has 2 ranks");
          Route other = new Route(List.of(1 - group.rank()), 1, Move.WRITE);
          assertThatThrownBy(() -> sync.receive(none, other, SyncProgress.NONE))
              .isInstanceOf(IllegalArgumentException.class)
              .hasMessageContaining("it receives, but is at place -1");
          assertThatThrownBy(() -> new Route(List.of(1, 0, 1), 1, Move.WRITE))
              .isInstanceOf(IllegalArgumentException.class);
          // Nothing of it counts.
          take(collective, none, Route.chain(2), SyncProgress.NONE);
        });
  }

  private Path folder(int rank) throws IOException {
    return Files.createDirectories(folder.resolve("rank" + rank));
  }

  private static List<String> names(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.map(file -> file.getFileName().toString()).toList();
    }
  }

  private List<Path> files() throws IOException {
    Random random = new Random(11);
    List<Path> files = new ArrayList<>();
    for (int size : new int[] {300_000, 0, 77_777}) {
      byte[] bytes = new byte[size];
      random.nextBytes(bytes);
      files.add(Files.write(folder(0).resolve("file" + size), bytes));
    }
    return files;
  }

  @Test
  void filesAreThereWholeOrNotAtAll() throws Exception {
    List<Path> files = files();
    Files.writeString(folder(2).resolve("file0"), "an earlier one");
    run(
        3,
        sync(),
        (group, collective) -> {
          int rank = group.rank();
          if (rank == 0) {
            try (FileSource source = new FileSource(files)) {
              collective.sync().send(source, Route.chain(3), SyncProgress.NONE);
            }
          } else {
            FileTarget target = new FileTarget(folder(rank));
            SyncProgress progress =
                (bytes, total) -> {
                  try {
                    assertThat(names(folder(rank))).doesNotContain("file300000", "file77777");
                  } catch (IOException e) {
                    throw new AssertionError(e);
                  }
                };
            collective.sync().receive(target, Route.chain(3), progress);
            assertThat(names(folder(rank)))
                .containsExactlyInAnyOrder("file300000", "file0", "file77777");
            for (Path file : files) {
              assertThat(folder(rank).resolve(file.getFileName())).hasSameBinaryContentAs(file);
            }
          }
        });
  }

  @ParameterizedTest
  @CsvSource({
    "cut, was cut while it was sent",
    "changed, changed while it was sent",
    "replaced, changed while it was sent",
    "removed, was removed while it was sent",
    "closed, ClosedChannelException"
  })
  void aFileThatChangesUnderWayIsReportedAndNowhereKept(String fault, String reason)
      throws Exception {
    List<Path> files = files();
    run(
        3,
        sync(),
        (group, collective) -> {
          int rank = group.rank();
          if (rank == 0) {
            try (FileSource source = new FileSource(files)) {
              SyncProgress progress =
                  (bytes, total) -> {
                    if (bytes == 10L * CHUNK) {
                      disturb(fault, files.getFirst(), source);
                    }
                  };
              assertThatThrownBy(() -> collective.sync().send(source, Route.chain(3), progress))
                  .isInstanceOf(SyncException.class)
                  .hasMessageContaining(reason);
            }
          } else {
            Files.writeString(folder(rank).resolve("file0"), "an earlier one");
            assertThatThrownBy(
                    () ->
                        collective
                            .sync()
                            .receive(
                                new FileTarget(folder(rank)), Route.chain(3), SyncProgress.NONE))
                .isInstanceOf(SyncException.class)
                .hasMessageContaining("given up by rank 0")
                .hasMessageContaining(reason);
            assertThat(names(folder(rank))).containsExactly("file0");
            assertThat(folder(rank).resolve("file0")).hasContent("an earlier one");
          }
        });
  }

  private static void disturb(String fault, Path file, FileSource source) {
    try {
      switch (fault) {
        case "cut" -> {
          try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            open.setLength(100_000);
          }
        }
        case "changed" -> {
          try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            open.write(open.read());
          }
        }
        case "replaced" -> {
          byte[] bytes = Files.readAllBytes(file);
          Files.delete(file);
          Files.write(file, bytes);
        }
        case "removed" -> Files.delete(file);
        default -> source.close();
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "changed, the memory changed while it was sent",
    "closed, Already closed",
    "cut, a mapped file was cut"
  })
  void memoryThatChangesUnderWayIsReportedAndNoTargetIsWhole(String fault, String reason)
      throws Exception {
    Path file = Files.write(folder.resolve("mapped"), new byte[200 * CHUNK]);
    run(
        3,
        sync(),
        (group, collective) -> {
          Arena mapping = Arena.ofShared();
          try (FileChannel channel = FileChannel.open(file, READ, WRITE);
              Arena arena = Arena.ofShared()) {
            boolean source = group.rank() == 0;
            MemorySegment memory =
                source
                    ? channel.map(READ_WRITE, 0, channel.size(), mapping)
                    : arena.allocate(channel.size());
            MemoryParameters parameters = new MemoryParameters().add("mapped", memory);
            SyncProgress progress =
                (bytes, total) -> {
                  if (source && bytes == 10L * CHUNK) {
                    disturb(fault, memory, channel, mapping);
                  }
                };
            assertThatThrownBy(() -> take(collective, parameters, Route.chain(3), progress))
                .isInstanceOfAny(SyncException.class, IllegalStateException.class)
                .hasMessageContaining(reason)
                .satisfies(
                    e -> {
                      if (!source) {
                        assertThat(e).hasMessageContaining("given up by rank 0");
                      }
                    });
            assertThat(parameters.isWhole()).isEqualTo(source);
          } finally {
            if (mapping.scope().isAlive()) {
              mapping.close();
            }
          }
        });
  }

  private static void disturb(
      String fault, MemorySegment memory, FileChannel channel, Arena mapping) {
    try {
      switch (fault) {
        case "changed" -> memory.set(ValueLayout.JAVA_BYTE, 3L * CHUNK, (byte) 1);
        case "closed" -> mapping.close();
        default -> channel.truncate(20L * CHUNK);
      }
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** More than 32 bits can count; sent without memory for all of it. */
  @Test
  void aParameterMayHaveMoreThanFourGibibytes() throws Exception {
    long bytes = (5L << 30) + 3;
    int chunk = 4 << 20;
    run(
        2,
        CollectiveConfig.builder().sync(2, chunk),
        (group, collective) -> {
          Numbered numbered = new Numbered(bytes);
          SyncReport report =
              group.rank() == 0
                  ? collective.sync().send(numbered, Route.chain(2), SyncProgress.NONE)
                  : collective.sync().receive(numbered, Route.chain(2), SyncProgress.NONE);
          assertThat(report.bytes()).isEqualTo(bytes);
          assertThat(numbered.next).isEqualTo(bytes);
        });
  }

  /** One parameter, in which each chunk begins with its offset, as far as there is room. */
  private static final class Numbered implements ParameterSource, ParameterTarget {
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;

    private final long size;
    private long next;

    Numbered(long size) {
      this.size = size;
    }

    @Override
    public List<Parameter> parameters() {
      return List.of(new Parameter("numbered", size));
    }

    @Override
    public void read(int parameter, long offset, MemorySegment to, long at, int bytes) {
      if (bytes >= Long.BYTES) {
        to.set(LONG, at, offset);
      }
      next = offset + bytes;
    }

    @Override
    public void verify(int checksum) {}

    @Override
    public void begin(List<Parameter> parameters) {
      assertThat(parameters).isEqualTo(parameters());
    }

    @Override
    public void write(int parameter, long offset, MemorySegment from, long at, int bytes) {
      assertThat(offset).isEqualTo(next);
      if (bytes >= Long.BYTES) {
        assertThat(from.get(LONG, at)).isEqualTo(offset);
      }
      next = offset + bytes;
    }

    @Override
    public void finish(int checksum) {}

    @Override
    public void commit() {}

    @Override
    public void abort() {}
  }

  @Test
  void filesThatDoNotFitOrHaveForbiddenNamesAreRefused() throws Exception {
    long free = Files.getFileStore(folder).getUsableSpace();
    FileTarget target = new FileTarget(folder(1));
    assertThatThrownBy(() -> target.begin(List.of(new Parameter("huge", free * 2))))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("bytes free, the files have");
    for (String name : List.of("", ".", "..", "../up", "/etc/passwd", "a/b")) {
      assertThatThrownBy(() -> target.begin(List.of(new Parameter(name, 1))))
          .as(name)
          .isInstanceOf(IOException.class);
    }
    Files.createDirectory(folder(1).resolve("folder"));
    assertThatThrownBy(() -> target.begin(List.of(new Parameter("folder", 1))))
        .hasMessageContaining("no regular file");
    assertThatThrownBy(() -> new FileSource(List.of(folder.resolve("none"))))
        .isInstanceOf(IOException.class);
    assertThatThrownBy(() -> new FileSource(List.of(folder))).hasMessageContaining("no regular");
    target.begin(List.of(new Parameter("small", 3)));
    target.write(0, 0, MemorySegment.ofArray(new byte[] {1, 2, 3}), 0, 3);
    assertThatThrownBy(() -> target.finish(1)).hasMessageContaining("read back");
    target.abort();
    assertThat(names(folder(1))).containsExactly("folder");
  }
}
