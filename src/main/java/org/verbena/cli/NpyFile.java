package org.verbena.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.nio.file.StandardOpenOption.READ;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.verbena.moe.Bf16;

/**
 * An array as {@code numpy.save} writes it, after the format's description in {@code
 * numpy.lib.format}: versions 1 to 3, little-endian numbers, the last index running fastest.
 *
 * @param path the file, which every error names
 * @param type the type of its numbers
 * @param shape its dimensions; empty for a single number
 * @param data its numbers, little-endian, aligned to 64 bytes
 */
record NpyFile(Path path, Type type, List<Integer> shape, MemorySegment data) {
  /** Types of numbers. */
  enum Type {
    UINT16("<u2", 2),
    FLOAT16("<f2", 2),
    FLOAT32("<f4", 4),
    INT32("<i4", 4),
    INT64("<i8", 8);

    private final String code;
    private final int bytes;

    Type(String code, int bytes) {
      this.code = code;
      this.bytes = bytes;
    }

    @Override
    public String toString() {
      return code;
    }
  }

  private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
  private static final int LONGEST_HEADER = 1 << 16;
  private static final int CHUNK = 1 << 30;

  private static final Pattern DESCR = Pattern.compile("['\"]descr['\"]\\s*:\\s*['\"]([^'\"]*)");
  private static final Pattern FORTRAN =
      Pattern.compile("['\"]fortran_order['\"]\\s*:\\s*(True|False)");
  private static final Pattern SHAPE = Pattern.compile("['\"]shape['\"]\\s*:\\s*\\(([0-9, ]*)\\)");

  private static final ValueLayout.OfShort SHORT = little(ValueLayout.JAVA_SHORT);
  private static final ValueLayout.OfInt INT = little(ValueLayout.JAVA_INT);
  private static final ValueLayout.OfLong LONG = little(ValueLayout.JAVA_LONG);
  private static final ValueLayout.OfFloat FLOAT = little(ValueLayout.JAVA_FLOAT);

  NpyFile {
    shape = List.copyOf(shape);
  }

  /**
   * Reads a file whole.
   *
   * @throws IOException naming the file, if it cannot be read or is not such an array
   */
  static NpyFile read(Path path, Arena arena) throws IOException {
    try (var channel = FileChannel.open(path, READ)) {
      var header = header(path, channel);
      var type = type(path, header);
      var shape = shape(path, header);
      long bytes = bytes(path, type, shape);
      long found = channel.size() - channel.position();
      if (found != bytes) {
        throw refusal(
            path,
            "%s: shape %s of %s takes %d bytes, but %d follow the header"
                .formatted(found < bytes ? "truncated" : "too long", shape, type, bytes, found));
      }
      var data = arena.allocate(bytes, 64);
      readFully(channel, data);
      return new NpyFile(path, type, shape, data);
    } catch (NoSuchFileException e) {
      throw new IOException(path + ": no such file", e);
    } catch (EOFException e) {
      throw new IOException(path + ": truncated", e);
    }
  }

  /** Writes an array as {@code numpy.save} would; the file is there whole, or not at all. */
  static void write(Path path, Type type, List<Integer> shape, MemorySegment data)
      throws IOException {
    var dimensions = shape.stream().map(String::valueOf).collect(Collectors.joining(", "));
    var header =
        "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }"
            .formatted(type, shape.size() == 1 ? dimensions + "," : dimensions);
    // Magic, version and length take 10 bytes; a line feed ends the header at a multiple of 64.
    int length = (10 + header.length() + 1 + 63) / 64 * 64 - 10;
    var start = ByteBuffer.allocate(10 + length).order(ByteOrder.LITTLE_ENDIAN);
    start.put(MAGIC).put((byte) 1).put((byte) 0).putShort((short) length);
    start.put((header + " ".repeat(length - header.length() - 1) + "\n").getBytes(UTF_8)).flip();
    if (bytes(path, type, shape) != data.byteSize()) {
      throw new IllegalArgumentException(
          "shape %s of %s does not take %d bytes".formatted(shape, type, data.byteSize()));
    }
    List<ByteBuffer> parts = new ArrayList<>(List.of(start));
    for (long at = 0; at < data.byteSize(); at += CHUNK) {
      parts.add(data.asSlice(at, Math.min(CHUNK, data.byteSize() - at)).asByteBuffer());
    }
    AtomicFile.write(path, parts.toArray(ByteBuffer[]::new));
  }

  /** The numbers as bf16: uint16 are its bits, floats are rounded. */
  MemorySegment toBf16(Arena arena) throws IOException {
    if (type == Type.UINT16) {
      return data;
    }
    if (type != Type.FLOAT16 && type != Type.FLOAT32) {
      throw refuse("its type is %s, but must be <u2 (bf16), <f2 or <f4".formatted(type));
    }
    long count = data.byteSize() / type.bytes;
    var result = arena.allocate(2 * count, 64);
    for (long i = 0; i < count; i++) {
      float value =
          type == Type.FLOAT32
              ? data.getAtIndex(FLOAT, i)
              : Float.float16ToFloat(data.getAtIndex(SHORT, i));
      result.setAtIndex(SHORT, i, Bf16.fromFloat(value));
    }
    return result;
  }

  /** The numbers as int32; throws if one does not fit. */
  MemorySegment toInt32(Arena arena) throws IOException {
    if (type == Type.INT32) {
      return data;
    }
    if (type != Type.INT64) {
      throw refuse("its type is %s, but must be <i4 or <i8".formatted(type));
    }
    long count = data.byteSize() / type.bytes;
    var result = arena.allocate(4 * count, 64);
    for (long i = 0; i < count; i++) {
      long value = data.getAtIndex(LONG, i);
      if (value != (int) value) {
        throw refuse("number %d is %d, which does not fit in 32 bits".formatted(i, value));
      }
      result.setAtIndex(INT, i, (int) value);
    }
    return result;
  }

  /** The numbers, which must be float32. */
  MemorySegment toFloat32() throws IOException {
    if (type != Type.FLOAT32) {
      throw refuse("its type is %s, but must be <f4".formatted(type));
    }
    return data;
  }

  /** An error about this file, to be thrown. */
  IOException refuse(String reason) {
    return refusal(path, reason);
  }

  private static String header(Path path, FileChannel channel) throws IOException {
    var start = read(channel, 8);
    for (byte expected : MAGIC) {
      if (start.get() != expected) {
        throw refusal(path, "not a NumPy array: it does not start with \\x93NUMPY");
      }
    }
    int version = start.get();
    if (version < 1 || version > 3) {
      throw refusal(path, "version %d of the format is not 1, 2 or 3".formatted(version));
    }
    long length =
        version == 1
            ? Short.toUnsignedInt(read(channel, 2).getShort())
            : Integer.toUnsignedLong(read(channel, 4).getInt());
    if (length > LONGEST_HEADER) {
      throw refusal(path, "a header of %d bytes, more than %d".formatted(length, LONGEST_HEADER));
    }
    return UTF_8.decode(read(channel, (int) length)).toString();
  }

  private static Type type(Path path, String header) throws IOException {
    var code = find(path, DESCR, header, "descr of one type");
    for (var type : Type.values()) {
      if (type.code.equals(code)) {
        return type;
      }
    }
    throw refusal(
        path,
        "its type is %s, but must be one of %s%s"
            .formatted(
                code,
                List.of(Type.values()),
                code.startsWith(">") ? "; it is big-endian: use astype" : ""));
  }

  private static List<Integer> shape(Path path, String header) throws IOException {
    if (find(path, FORTRAN, header, "fortran_order").equals("True")) {
      throw refusal(path, "in Fortran order: use numpy.ascontiguousarray");
    }
    var dimensions = find(path, SHAPE, header, "shape");
    List<Integer> shape = new ArrayList<>();
    for (var dimension : dimensions.isBlank() ? new String[0] : dimensions.split(",", 0)) {
      if (!dimension.isBlank()) {
        try {
          shape.add(Integer.parseInt(dimension.strip()));
        } catch (NumberFormatException e) {
          throw new IOException(path + ": its shape (" + dimensions + ") is wrong or too large", e);
        }
      }
    }
    return shape;
  }

  private static String find(Path path, Pattern pattern, String header, String what)
      throws IOException {
    Matcher matcher = pattern.matcher(header);
    if (!matcher.find()) {
      throw refusal(path, "no " + what + " in its header: " + header.strip());
    }
    return matcher.group(1);
  }

  private static long bytes(Path path, Type type, List<Integer> shape) throws IOException {
    long bytes = type.bytes;
    try {
      for (int dimension : shape) {
        bytes = Math.multiplyExact(bytes, (long) dimension);
      }
    } catch (ArithmeticException e) {
      throw new IOException(path + ": its shape " + shape + " is too large", e);
    }
    return bytes;
  }

  private static ByteBuffer read(FileChannel channel, int bytes) throws IOException {
    var buffer = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    readFully(channel, MemorySegment.ofBuffer(buffer));
    return buffer;
  }

  private static void readFully(FileChannel channel, MemorySegment to) throws IOException {
    long done = 0;
    while (done < to.byteSize()) {
      long size = Math.min(CHUNK, to.byteSize() - done);
      int read = channel.read(to.asSlice(done, size).asByteBuffer());
      if (read < 0) {
        throw new EOFException();
      }
      done += read;
    }
  }

  private static IOException refusal(Path path, String reason) {
    return new IOException(path + ": " + reason);
  }

  @SuppressWarnings("unchecked") // withOrder returns the layout's own type.
  private static <L extends ValueLayout> L little(L layout) {
    return (L) layout.withOrder(ByteOrder.LITTLE_ENDIAN);
  }
}
