/** The command line. Nothing in the library depends on it. */
@NullMarked
package org.verbena.cli;

import org.jspecify.annotations.NullMarked;
