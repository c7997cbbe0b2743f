package org.verbena.cli;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.verbena.layout.ExchangeShape;
import picocli.CommandLine.Option;

/** Options that give the shape of an exchange. */
final class ExchangeOptions {
  private static final int USUAL_TOPK = 8;

  @Option(
      names = "--ranks",
      defaultValue = "4",
      paramLabel = "R",
      description = "Ranks of the group (default: ${DEFAULT-VALUE}).")
  private int ranks;

  @Option(
      names = "--tokens",
      defaultValue = "128",
      paramLabel = "T",
      description = "Most tokens of a rank in a round (default: ${DEFAULT-VALUE}).")
  private int tokens;

  @Option(
      names = "--hidden",
      defaultValue = "7168",
      paramLabel = "H",
      description = "Values of a token, a multiple of 8 (default: ${DEFAULT-VALUE}).")
  private int hidden;

  @Option(
      names = "--experts",
      defaultValue = "288",
      paramLabel = "E",
      description = "Experts of all ranks (default: ${DEFAULT-VALUE}).")
  private int experts;

  @Option(
      names = "--topk",
      paramLabel = "K",
      description = "Experts of a token (default: 8, or all if there are fewer).")
  private @Nullable Integer topk;

  /** The shape; throws IllegalArgumentException, naming value and rule, if there is none. */
  ExchangeShape shape() {
    int chosen = topk == null ? Math.min(USUAL_TOPK, Math.max(1, experts)) : topk;
    return new ExchangeShape(ranks, tokens, hidden, experts, chosen);
  }

  /** The options that give this shape again. */
  static List<String> of(ExchangeShape shape) {
    List<String> options = new ArrayList<>();
    options.add("--ranks=" + shape.ranks());
    options.add("--tokens=" + shape.tokens());
    options.add("--hidden=" + shape.hidden());
    options.add("--experts=" + shape.experts());
    options.add("--topk=" + shape.topk());
    return options;
  }
}
