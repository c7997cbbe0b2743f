/**
 * One-sided access to the windows of a group: every rank exposes one block of memory of the same
 * layout, and the others write into it, read from it and signal in it.
 */
@NullMarked
package org.verbena.transport;

import org.jspecify.annotations.NullMarked;
