package org.verbena.cli;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads what NumPy wrote: the files of {@code src/test/npy}, and {@code make.py} beside them. */
class NpyFileTest {
  private static final Path NUMPY = Path.of("src", "test", "npy");

  @TempDir private Path folder;

  @Test
  void readsBf16AsItIs() throws IOException {
    var file = read("u2.npy");
    assertThat(file.type()).isEqualTo(NpyFile.Type.UINT16);
    assertThat(file.shape()).containsExactly(3, 8);
    var bits = file.toBf16(Arena.ofAuto()).toArray(ValueLayout.JAVA_SHORT);
    assertThat(bits).hasSize(24);
    for (int i = 0; i < bits.length; i++) {
      assertThat(bits[i]).isEqualTo((short) (0x3F80 + i));
    }
  }

  @Test
  void roundsFloatsToBf16() throws IOException {
    assertThat(bf16("f2.npy"))
        .containsExactly(bits(0x3F00, 0xC000, 0x4780, 0x3380, 0x7F80, 0xFF80, 0x7FC0, 0x8000));
    // 1 + 2^-8 is a tie, which goes to the even 1; 3.4e38 is beyond the largest bf16.
    assertThat(bf16("f4.npy")).containsExactly(bits(0x3F80, 0xBFC0, 0x3F80, 0x7F80, 0x7FC0));
    assertThat(read("f4.npy").toFloat32().getAtIndex(ValueLayout.JAVA_FLOAT, 1)).isEqualTo(-1.5f);
  }

  @ParameterizedTest
  @ValueSource(strings = {"i4.npy", "i8.npy"})
  void readsIntegers(String name) throws IOException {
    var file = read(name);
    assertThat(file.shape()).containsExactly(2, 2);
    assertThat(file.toInt32(Arena.ofAuto()).toArray(ValueLayout.JAVA_INT))
        .containsExactly(0, -1, Integer.MAX_VALUE, Integer.MIN_VALUE);
  }

  @Test
  void readsArraysWithoutRowsAndWithoutDimensions() throws IOException {
    assertThat(read("empty.npy").shape()).containsExactly(0, 8);
    assertThat(read("empty.npy").data().byteSize()).isZero();
    assertThat(read("scalar.npy").shape()).isEmpty();
    assertThat(read("scalar.npy").data().get(ValueLayout.JAVA_INT, 0)).isEqualTo(7);
  }

  @ParameterizedTest
  @ValueSource(strings = {"version2.npy", "version3.npy"})
  void readsLaterVersions(String name) throws IOException {
    var file = read(name);
    assertThat(file.shape()).containsExactly(2, 3);
    assertThat(file.data().toArray(ValueLayout.JAVA_INT)).containsExactly(0, 1, 2, 3, 4, 5);
  }

  @ParameterizedTest
  @CsvSource({
    "fortran.npy, numpy.ascontiguousarray",
    "big-endian.npy, big-endian",
    "f8.npy, its type is <f8",
    "fields.npy, no descr of one type",
    "none.npy, no such file",
    "make.py, not a NumPy array",
  })
  void refusesOtherFilesByName(String name, String reason) {
    assertThatIOException()
        .isThrownBy(() -> read(name))
        .withMessageStartingWith(NUMPY.resolve(name) + ": ")
        .withMessageContaining(reason);
  }

  @Test
  void refusesTypesThatDoNotFit() throws IOException {
    var auto = Arena.ofAuto();
    var large = read("i8-large.npy");
    assertThatIOException()
        .isThrownBy(() -> large.toInt32(auto))
        .withMessage(large.path() + ": number 1 is 2147483648, which does not fit in 32 bits");
    var bf16 = read("u2.npy");
    assertThatIOException().isThrownBy(() -> bf16.toInt32(auto)).withMessageContaining("<u2");
    assertThatIOException().isThrownBy(bf16::toFloat32).withMessageContaining("must be <f4");
    assertThatIOException().isThrownBy(() -> large.toBf16(auto)).withMessageContaining("<i8");
  }

  @Test
  void refusesAFileCutAnywhereOrTooLong() throws IOException {
    for (var name : List.of("i8.npy", "version3.npy", "empty.npy")) {
      var whole = Files.readAllBytes(NUMPY.resolve(name));
      for (int length = 0; length < whole.length; length++) {
        refuses(Arrays.copyOf(whole, length), "truncated");
      }
      refuses(Arrays.copyOf(whole, whole.length + 1), "too long");
    }
  }

  /** Any byte of a header may be wrong: an array, or an error with the file's name. */
  @Test
  void survivesDamagedHeaders() throws IOException {
    long seed = Long.getLong("verbena.seed", System.nanoTime());
    System.out.println("NpyFileTest: -Dverbena.seed=" + seed);
    var random = new Random(seed);
    var whole = Files.readAllBytes(NUMPY.resolve("i8.npy"));
    var path = folder.resolve("damaged.npy");
    for (int i = 0; i < 500; i++) {
      var bytes = whole.clone();
      for (int n = random.nextInt(3); n >= 0; n--) {
        bytes[random.nextInt(80)] = (byte) random.nextInt();
      }
      Files.write(path, bytes);
      try {
        assertThat(NpyFile.read(path, Arena.ofAuto()).data().byteSize()).isEqualTo(32);
      } catch (IOException e) {
        assertThat(e).hasMessageStartingWith(path + ": ");
      }
    }
  }

  @Test
  void refusesShapesThatOverflow() throws IOException {
    var text = new String(Files.readAllBytes(NUMPY.resolve("i4.npy")), ISO_8859_1);
    for (var shape : List.of("(2147483647, 2147483647, 2147483647)", "(99999999999,)")) {
      var padded = text.replace("(2, 2), }" + " ".repeat(shape.length() - 6), shape + ", }");
      refuses(padded.getBytes(ISO_8859_1), "too large");
    }
  }

  /** Byte for byte the file that NumPy made. */
  @ParameterizedTest
  @ValueSource(strings = {"u2.npy", "f4.npy", "i4.npy", "i8.npy", "empty.npy", "scalar.npy"})
  void writesWhatNumpyWrites(String name) throws IOException {
    var numpy = read(name);
    var path = folder.resolve("written.npy");
    NpyFile.write(path, numpy.type(), numpy.shape(), numpy.data());
    assertThat(path).hasSameBinaryContentAs(NUMPY.resolve(name));
  }

  @Test
  void refusesToWriteAShapeThatIsNotTheData() {
    var data = MemorySegment.ofArray(new int[3]);
    var path = folder.resolve("wrong.npy");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> NpyFile.write(path, NpyFile.Type.INT32, List.of(4), data));
    assertThat(path).doesNotExist();
  }

  private void refuses(byte[] content, String reason) throws IOException {
    var path = Files.write(folder.resolve("refused.npy"), content);
    assertThatIOException()
        .isThrownBy(() -> NpyFile.read(path, Arena.ofAuto()))
        .withMessageStartingWith(path + ": ")
        .withMessageContaining(reason);
  }

  private static NpyFile read(String name) throws IOException {
    return NpyFile.read(NUMPY.resolve(name), Arena.ofAuto());
  }

  private static short[] bf16(String name) throws IOException {
    return read(name).toBf16(Arena.ofAuto()).toArray(ValueLayout.JAVA_SHORT);
  }

  private static short[] bits(int... bits) {
    var shorts = new short[bits.length];
    for (int i = 0; i < bits.length; i++) {
      shorts[i] = (short) bits[i];
    }
    return shorts;
  }
}
