package org.verbena.collective;

import java.util.Locale;

/** The usual routes from rank 0 to all ranks. */
public enum Way {
  /** {@link Route#chain}. */
  CHAIN,
  /** {@link Route#tree}. */
  TREE,
  /** {@link Route#star}. */
  STAR;

  /** The route among {@code ranks} ranks. */
  public Route of(int ranks) {
    return switch (this) {
      case CHAIN -> Route.chain(ranks);
      case TREE -> Route.tree(ranks);
      case STAR -> Route.star(ranks);
    };
  }

  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
