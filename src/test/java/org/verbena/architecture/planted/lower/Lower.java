package org.verbena.architecture.planted.lower;

import org.verbena.architecture.planted.upper.Upper;

/** Knows a package above its own. */
public record Lower(Upper above) {}
