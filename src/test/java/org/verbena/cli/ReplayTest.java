package org.verbena.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.moe.Bf16;
import picocli.CommandLine;

/** Replays captures that NumPy wrote (make_capture.py), and refuses what is not one. */
class ReplayTest {
  private static final Path CAPTURE = Path.of("src/test/npy/capture");
  private static final int RANKS = 3;

  @TempDir private Path directory;

  @BeforeEach
  void copyCapture() throws IOException {
    try (Stream<Path> files = Files.list(CAPTURE)) {
      for (Path file : files.toList()) {
        Files.copy(file, directory.resolve(file.getFileName()));
      }
    }
  }

  private int replay(String... options) {
    String[] arguments =
        Stream.concat(Stream.of(options), Stream.of(directory.toString())).toArray(String[]::new);
    return new CommandLine(new ReplayCommand()).execute(arguments);
  }

  @Test
  void givesWhatNumPyComputes() throws IOException {
    String placement = directory.resolve("placement.npy").toString();

    int code = replay("--experts=5", "--expert=scale", "--rounds=3", "--placement=" + placement);

    assertThat(code).isZero();
    for (int rank = 0; rank < RANKS; rank++) {
      checkResults(rank);
    }
    assertThat(counts(0)).containsExactly(count(1));
    assertThat(counts(1)).containsExactly(count(3));
    assertThat(counts(2)).containsExactly(count(0), count(2), count(4));
  }

  private void checkResults(int rank) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      NpyFile expected = read(rank, "expected", arena);
      NpyFile bound = read(rank, "bound", arena);
      NpyFile out = read(rank, "out", arena);
      assertThat(out.type()).isEqualTo(NpyFile.Type.UINT16);
      assertThat(out.shape()).isEqualTo(expected.shape());
      for (long i = 0; i < expected.data().byteSize() / Float.BYTES; i++) {
        double found = Bf16.toFloat(out.data().getAtIndex(ValueLayout.JAVA_SHORT, i));
        double wanted = expected.data().getAtIndex(ValueLayout.JAVA_FLOAT, i);
        double most = bound.data().getAtIndex(ValueLayout.JAVA_FLOAT, i) * 1.01;
        assertThat(Math.abs(found - wanted))
            .as("rank %d, value %d", rank, i)
            .isLessThanOrEqualTo(most);
      }
    }
  }

  private NpyFile read(int rank, String kind, Arena arena) throws IOException {
    return NpyFile.read(Capture.file(directory, rank, kind), arena);
  }

  private int[] counts(int rank) throws IOException {
    try (Arena arena = Arena.ofConfined()) {
      return read(rank, "counts", arena).data().toArray(ValueLayout.JAVA_INT);
    }
  }

  /** How often an expert appears in the captured routing. */
  private int count(int expert) throws IOException {
    int count = 0;
    for (int rank = 0; rank < RANKS; rank++) {
      try (Arena arena = Arena.ofConfined()) {
        int[] ids = read(rank, "topk", arena).toInt32(arena).toArray(ValueLayout.JAVA_INT);
        for (int id : ids) {
          count += id == expert ? 1 : 0;
        }
      }
    }
    return count;
  }

  /** Refused with the file's name, with nothing written, and without a stack trace. */
  private void refused(String file, String reason, String... options) throws IOException {
    PrintStream before = System.err;
    ByteArrayOutputStream errors = new ByteArrayOutputStream();
    System.setErr(new PrintStream(errors, true, StandardCharsets.UTF_8));
    int code;
    try {
      code = replay(options.length == 0 ? new String[] {"--experts=5"} : options);
    } finally {
      System.setErr(before);
    }
    assertThat(errors.toString(StandardCharsets.UTF_8))
        .startsWith("verbena: ")
        .contains(directory.resolve(file).toString())
        .contains(reason)
        .hasLineCount(1);
    assertThat(code).isEqualTo(ExitCode.USAGE);
    try (Stream<Path> files = Files.list(directory)) {
      assertThat(files)
          .noneMatch(path -> path.getFileName().toString().matches(".*(out|counts|tmp).*"));
    }
  }

  private void copy(String from, String to) throws IOException {
    Files.write(directory.resolve(to), Files.readAllBytes(CAPTURE.resolveSibling(from)));
  }

  @Test
  void aMissingRankIsNamed() throws IOException {
    Files.delete(directory.resolve("rank1.x.npy"));
    refused("rank1.x.npy", "no such file, but there are files of rank 2");
  }

  @Test
  void aMissingLastRankIsNamed() throws IOException {
    Files.delete(directory.resolve("rank2.x.npy"));
    refused("rank2.x.npy", "no such file, but there are files of rank 2");
  }

  @Test
  void aMissingFileIsNamed() throws IOException {
    Files.delete(directory.resolve("rank2.weights.npy"));
    refused("rank2.weights.npy", "no such file");
  }

  @Test
  void aTruncatedFileIsNamed() throws IOException {
    Path file = directory.resolve("rank0.topk.npy");
    byte[] bytes = Files.readAllBytes(file);
    Files.write(file, Arrays.copyOf(bytes, bytes.length - 3));
    refused("rank0.topk.npy", "truncated");
  }

  @Test
  void anotherByteOrderTypeOrShapeIsNamed() throws IOException {
    copy("big-endian.npy", "rank0.x.npy");
    refused("rank0.x.npy", "big-endian");
    copy("f8.npy", "rank0.x.npy");
    refused("rank0.x.npy", "<f8");
    copy("scalar.npy", "rank0.x.npy");
    refused("rank0.x.npy", "2 dimensions");
  }

  @Test
  void filesThatDoNotFitEachOtherAreNamed() throws IOException {
    Files.copy(
        CAPTURE.resolve("rank2.topk.npy"),
        directory.resolve("rank0.topk.npy"),
        StandardCopyOption.REPLACE_EXISTING);
    refused("rank0.topk.npy", "it has 3 rows");
  }

  @Test
  void anExpertThatIsNotThereIsNamed() throws IOException {
    refused("rank", "ids are 0 to 2", "--experts=3");
  }

  @Test
  void aPlacementThatDoesNotFitIsNamed() throws IOException {
    refused(
        "placement.npy",
        "must be <i4 [6]",
        "--experts=6",
        "--placement=" + directory.resolve("placement.npy"));
  }
}
