/** Tests of the structure of the library itself. */
@NullMarked
package org.verbena.architecture;

import org.jspecify.annotations.NullMarked;
