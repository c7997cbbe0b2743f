/** A planted package, for the test of the layering test. */
@NullMarked
package org.verbena.architecture.planted.upper;

import org.jspecify.annotations.NullMarked;
