package org.verbena.verbs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The library of a kind of device. Most providers post and poll without a system call, and wait for
 * nothing but a spin lock; this tells which, as their sources in rdma-core 65 have it. Others ask
 * the kernel in each call, or in some: hfi1verbs, ipathverbs, and irdma, cxgb4 and bnxt_re for
 * flushes and resizes.
 *
 * @param pollsInUserSpace whether poll_cq makes no system call
 * @param postsInUserSpace whether post_send, post_recv and post_srq_recv make none
 */
record Provider(boolean pollsInUserSpace, boolean postsInUserSpace) {
  static final Provider UNKNOWN = new Provider(false, false);

  private static final Set<String> POLLING = Set.of("efa", "erdma", "mlx4", "mlx5", "rxe", "siw");
  private static final Set<String> POSTING = Set.of("efa", "erdma", "mlx4", "mlx5");
  private static final Path MAPS = Path.of("/proc/self/maps");

  /** The provider whose library {@code function} lies in; unknown where that cannot be told. */
  static Provider of(MemorySegment function) {
    try (Stream<String> mappings = Files.lines(MAPS)) {
      return of(function.address(), mappings);
    } catch (IOException | UncheckedIOException e) {
      return UNKNOWN;
    }
  }

  /**
   * As {@link #of(MemorySegment)}.
   *
   * @param mappings lines as proc(5) has them in {@code /proc/PID/maps}
   */
  static Provider of(long function, Stream<String> mappings) {
    return mappings
        .filter(line -> holds(line, function))
        .findFirst()
        .map(line -> named(line.substring(line.lastIndexOf('/') + 1)))
        .orElse(UNKNOWN);
  }

  private static boolean holds(String mapping, long address) {
    int dash = mapping.indexOf('-');
    int space = mapping.indexOf(' ');
    long from = Long.parseUnsignedLong(mapping, 0, dash, 16);
    long to = Long.parseUnsignedLong(mapping, dash + 1, space, 16);
    return Long.compareUnsigned(from, address) <= 0 && Long.compareUnsigned(address, to) < 0;
  }

  /** Of a file as {@code libmlx5.so.1.24.50.0} or {@code librxe-rdmav34.so}. */
  private static Provider named(String file) {
    String name = file.replaceFirst("^lib", "").replaceFirst("[-.].*", "");
    return new Provider(POLLING.contains(name), POSTING.contains(name));
  }
}
