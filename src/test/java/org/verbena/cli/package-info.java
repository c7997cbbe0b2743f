/** Tests of the command line. */
@NullMarked
package org.verbena.cli;

import org.jspecify.annotations.NullMarked;
