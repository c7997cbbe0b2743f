package org.verbena.layout;

import java.util.Formatter;
import java.util.Locale;
import org.verbena.layout.LayoutOptions.Kind;

/** A layout as text for people to read. */
public final class LayoutTable {
  private LayoutTable() {}

  /** The sizes of a layout, a line each. */
  public static String summary(BufferLayout layout) {
    var text = new Formatter(Locale.ROOT);
    summary(text, layout);
    return text.toString();
  }

  /** The shape, the sizes and all regions of a layout. */
  public static String render(BufferLayout layout) {
    var shape = layout.shape();
    var options = layout.options();
    var text = new Formatter(Locale.ROOT);
    text.format(
        "%d ranks, %d tokens of %d values, %d experts, top-%d%n",
        shape.ranks(), shape.tokens(), shape.hidden(), shape.experts(), shape.topk());
    text.format(
        "%s%s, %s%n%n",
        options.kind() == Kind.RDMA ? "RDMA" : "shared memory",
        options.compact() ? ", compact" : "",
        options.halves() == 1 ? "one half" : "two halves");
    summary(text, layout);
    text.format("%n%-4s  %-17s  %15s  %15s%n", "half", "region", "offset", "bytes");
    for (var region : layout.regions()) {
      text.format(
          "%4d  %-17s  %,15d  %,15d%n",
          region.half(), region.name(), region.offset(), region.bytes());
    }
    return text.toString();
  }

  private static void summary(Formatter text, BufferLayout layout) {
    size(text, "size hint", layout.sizeHintBytes());
    size(text, "DeepEP hint", layout.deepEpHintBytes());
    size(text, "required", layout.requiredBytes());
    if (layout.options().compact()) {
      size(text, "saved (compact)", layout.savedBytes());
    }
    if (layout.options().scale() > 1) {
      size(text, "allocation (x " + layout.options().scale() + ")", layout.allocationBytes());
    }
  }

  private static void size(Formatter text, String name, long bytes) {
    text.format("%-22s %,17d bytes  %s%n", name, bytes, binary(bytes));
  }

  /** A number of bytes in the largest binary unit that leaves at least 1. */
  static String binary(long bytes) {
    int unit = Math.max(0, (63 - Long.numberOfLeadingZeros(bytes)) / 10);
    String[] units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    return String.format(
        Locale.ROOT,
        unit == 0 ? "%.0f %s" : "%.1f %s",
        bytes / (double) (1L << (10 * unit)),
        units[unit]);
  }
}
