/**
 * The exchange of mixture-of-experts inference: tokens are dispatched to the ranks that own their
 * experts, and the results are combined, weighted, where the tokens came from.
 */
@NullMarked
package org.verbena.moe;

import org.jspecify.annotations.NullMarked;
