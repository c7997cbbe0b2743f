/** The programs of the README: compiled and run here, and compared with its text. */
@NullMarked
package org.verbena.examples;

import org.jspecify.annotations.NullMarked;
