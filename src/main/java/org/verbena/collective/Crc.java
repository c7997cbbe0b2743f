package org.verbena.collective;

/**
 * The CRC32C of two blocks, one behind the other, from the CRC32C of each: so that what was checked
 * chunk by chunk need not be gone through again as a whole.
 *
 * <p>Appending zeros to a block changes its checksum by a linear function of its 32 bits, a matrix
 * over the field of two elements; squaring the matrix doubles the number of zeros. This is the
 * method of {@code crc32_combine} in zlib, for the polynomial of CRC32C.
 */
final class Crc {
  private static final int POLYNOMIAL = 0x82F63B78;

  /** The matrix for a byte of zeros, and for twice as many in each further row. */
  private static final int[][] ZEROS = new int[63][];

  static {
    int[] bit = new int[32];
    bit[0] = POLYNOMIAL;
    for (int i = 1; i < 32; i++) {
      bit[i] = 1 << (i - 1);
    }
    ZEROS[0] = square(square(square(bit)));
    for (int i = 1; i < ZEROS.length; i++) {
      ZEROS[i] = square(ZEROS[i - 1]);
    }
  }

  private Crc() {}

  /** The checksum of a first block and a second one of this many bytes behind it. */
  static int combine(int first, int second, long secondBytes) {
    int sum = first;
    for (int i = 0; secondBytes >> i != 0; i++) {
      if ((secondBytes >> i & 1) != 0) {
        sum = times(ZEROS[i], sum);
      }
    }
    return sum ^ second;
  }

  private static int times(int[] matrix, int vector) {
    int sum = 0;
    for (int i = 0; i < 32; i++) {
      sum ^= matrix[i] & -(vector >>> i & 1);
    }
    return sum;
  }

  private static int[] square(int[] matrix) {
    int[] square = new int[32];
    for (int i = 0; i < 32; i++) {
      square[i] = times(matrix, matrix[i]);
    }
    return square;
  }
}
