/** Dispatch and combine: the expert-parallel exchange of mixture-of-experts inference. */
@NullMarked
package org.verbena.moe;

import org.jspecify.annotations.NullMarked;
