/** A planted package, for the test of the layering test. */
@NullMarked
package org.verbena.architecture.planted.lower;

import org.jspecify.annotations.NullMarked;
