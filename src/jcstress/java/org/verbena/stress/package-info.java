/** Tests on real threads, run by jcstress. */
@NullMarked
package org.verbena.stress;

import org.jspecify.annotations.NullMarked;
