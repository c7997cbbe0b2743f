package org.verbena.cli;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What was captured from one rank of an engine.
 *
 * @param count n, how many tokens there are
 * @param hidden H, values of a token
 * @param topk K, experts of a token
 * @param tokens bf16 [n][H]
 * @param experts int32 [n][K], -1 for none
 * @param weights float32 [n][K]
 */
record Capture(
    int count,
    int hidden,
    int topk,
    MemorySegment tokens,
    MemorySegment experts,
    MemorySegment weights) {
  private static final Pattern INPUT =
      Pattern.compile("rank(0|[1-9][0-9]{0,5})\\.(x|topk|weights)\\.npy");

  /** n, H and K. */
  int[] sizes() {
    return new int[] {count, hidden, topk};
  }

  /** The file of a rank that holds one kind of array. */
  static Path file(Path directory, int rank, String kind) {
    return directory.resolve("rank" + rank + "." + kind + ".npy");
  }

  /**
   * How many ranks were captured: they are numbered from 0 without a gap.
   *
   * @throws IOException naming the file that is missing
   */
  static int ranks(Path directory) throws IOException {
    if (!Files.isDirectory(directory)) {
      throw new IOException(directory + ": no such directory");
    }
    int highest = -1;
    try (var files = Files.newDirectoryStream(directory, "rank*.npy")) {
      for (Path file : files) {
        Matcher name = INPUT.matcher(file.getFileName().toString());
        if (name.matches()) {
          highest = Math.max(highest, Integer.parseInt(name.group(1)));
        }
      }
    }
    if (highest < 0) {
      throw new IOException(file(directory, 0, "x") + ": no such file; nothing was captured here");
    }
    for (int rank = 0; rank <= highest; rank++) {
      Path file = file(directory, rank, "x");
      if (!Files.exists(file)) {
        throw new IOException(file + ": no such file, but there are files of rank " + highest);
      }
    }
    return highest + 1;
  }

  /**
   * Reads what a rank put in.
   *
   * @param experts E, how many experts there are
   * @throws IOException naming the file and what is wrong with it
   */
  static Capture read(Path directory, int rank, int experts, Arena arena) throws IOException {
    NpyFile x = NpyFile.read(file(directory, rank, "x"), arena);
    NpyFile ids = NpyFile.read(file(directory, rank, "topk"), arena);
    NpyFile weights = NpyFile.read(file(directory, rank, "weights"), arena);
    for (NpyFile file : new NpyFile[] {x, ids, weights}) {
      if (file.shape().size() != 2) {
        throw file.refuse("its shape is %s, but must have 2 dimensions".formatted(file.shape()));
      }
    }
    int count = x.shape().getFirst();
    if (ids.shape().getFirst() != count) {
      throw ids.refuse(
          "it has %d rows, but %s has %d".formatted(ids.shape().getFirst(), x.path(), count));
    }
    if (!weights.shape().equals(ids.shape())) {
      throw weights.refuse(
          "its shape is %s, but that of %s is %s"
              .formatted(weights.shape(), ids.path(), ids.shape()));
    }
    int topk = ids.shape().get(1);
    if (topk < 1 || topk > experts) {
      throw ids.refuse("it has %d columns, but must have 1 to %d".formatted(topk, experts));
    }
    int hidden = x.shape().get(1);
    if (hidden < 8 || hidden % 8 != 0) {
      throw x.refuse("it has %d columns, but must have a multiple of 8".formatted(hidden));
    }
    MemorySegment numbers = ids.toInt32(arena);
    checkIds(ids, numbers, topk, experts);
    return new Capture(count, hidden, topk, x.toBf16(arena), numbers, weights.toFloat32());
  }

  private static void checkIds(NpyFile file, MemorySegment ids, int topk, int experts)
      throws IOException {
    for (long i = 0; i < ids.byteSize() / Integer.BYTES; i++) {
      int expert = ids.getAtIndex(ValueLayout.JAVA_INT, i);
      if (expert < -1 || expert >= experts) {
        throw file.refuse(
            "expert %d in row %d, column %d; ids are 0 to %d, or -1 for none (--experts)"
                .formatted(expert, i / topk, i % topk, experts - 1));
      }
    }
  }
}
