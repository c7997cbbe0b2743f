/** Tests of the exchange against the acceptance procedure. */
@NullMarked
package org.verbena.acceptance;

import org.jspecify.annotations.NullMarked;
