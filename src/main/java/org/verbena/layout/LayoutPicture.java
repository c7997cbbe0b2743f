package org.verbena.layout;

import java.util.Comparator;
import java.util.Formatter;
import java.util.List;
import java.util.Locale;

/** A layout as a picture. */
public final class LayoutPicture {
  private static final int TOP = 64;
  private static final int HEIGHT = 600;
  private static final int BAR_LEFT = 24;
  private static final int BAR_WIDTH = 200;
  private static final int LABEL_LEFT = 300;

  private LayoutPicture() {}

  /**
   * An SVG document that shows one half to scale: from top to bottom a region is as high as its
   * share of the half's bytes. A region too small to be seen is a line at its place.
   */
  public static String svg(BufferLayout layout) {
    var shape = layout.shape();
    var half = layout.halfBytes();
    var regions =
        layout.regions().stream()
            .filter(region -> region.half() == 0)
            .sorted(Comparator.comparingLong(Region::offset))
            .toList();
    var svg = new Formatter(Locale.ROOT);
    svg.format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"760\" height=\"%d\""
            + " font-family=\"sans-serif\" font-size=\"13\">\n",
        TOP + HEIGHT + 24);
    svg.format("<title>One half of the buffer, %,d bytes</title>\n", half);
    svg.format("<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
    svg.format(
        "<text x=\"%d\" y=\"28\" font-size=\"16\">One half of the buffer: %,d bytes (%s)</text>\n",
        BAR_LEFT, half, LayoutTable.binary(half));
    svg.format(
        "<text x=\"%d\" y=\"48\" fill=\"#555\">%d ranks, %d tokens of %d values, %d experts,"
            + " top-%d; to scale</text>\n",
        BAR_LEFT, shape.ranks(), shape.tokens(), shape.hidden(), shape.experts(), shape.topk());
    for (int i = 0; i < regions.size(); i++) {
      region(svg, regions, i, half);
    }
    svg.format(
        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"black\"/>\n",
        BAR_LEFT, TOP, BAR_WIDTH, HEIGHT);
    svg.format("</svg>\n");
    return svg.toString();
  }

  private static void region(Formatter svg, List<Region> regions, int index, long half) {
    var region = regions.get(index);
    double top = TOP + HEIGHT * (region.offset() / (double) half);
    double height = HEIGHT * (region.bytes() / (double) half);
    // A region that shares the memory of the one before is drawn beside it.
    boolean shared = index > 0 && regions.get(index - 1).offset() == region.offset();
    int left = shared ? BAR_LEFT + BAR_WIDTH / 2 : BAR_LEFT;
    double middle = top + height / 2;
    double label = TOP + HEIGHT * ((index + 0.5) / regions.size());
    String colour = colour(region.name());
    svg.format(
        "<rect x=\"%d\" y=\"%.3f\" width=\"%d\" height=\"%.3f\" fill=\"%s\" stroke=\"%s\""
            + " stroke-width=\"0.5\"/>\n",
        left, top, BAR_LEFT + BAR_WIDTH - left, height, colour, colour);
    svg.format(
        "<path d=\"M%d %.3f L%d %.3f\" stroke=\"#888\" fill=\"none\"/>\n",
        BAR_LEFT + BAR_WIDTH, middle, LABEL_LEFT - 22, label);
    svg.format(
        "<rect x=\"%d\" y=\"%.3f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n",
        LABEL_LEFT - 18, label - 6, colour);
    svg.format(
        "<text x=\"%d\" y=\"%.3f\">%s</text>"
            + "<text x=\"%d\" y=\"%.3f\" fill=\"#555\">%,d bytes at %,d</text>\n",
        LABEL_LEFT,
        label + 4,
        region.name(),
        LABEL_LEFT + 140,
        label + 4,
        region.bytes(),
        region.offset());
  }

  private static String colour(String name) {
    return switch (name) {
      case "dispatch receive" -> "#4477aa";
      case "dispatch counts" -> "#222255";
      case "dispatch send" -> "#88ccee";
      case "routing receive" -> "#aa4499";
      case "routing send" -> "#dd99cc";
      case "combine receive" -> "#228833";
      case "combine progress" -> "#885500";
      case "combine flags" -> "#cc3311";
      default -> "#bbcc33";
    };
  }
}
