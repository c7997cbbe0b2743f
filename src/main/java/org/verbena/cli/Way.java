package org.verbena.cli;

import java.util.Locale;
import org.verbena.collective.Route;

/** How files go from rank to rank. */
enum Way {
  CHAIN,
  TREE,
  STAR;

  Route of(int ranks) {
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
