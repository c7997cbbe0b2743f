/**
 * Where everything lies in the memory a rank exposes: pure arithmetic in {@code long}, checked for
 * overflow, that depends on no other package.
 */
@NullMarked
package org.verbena.layout;

import org.jspecify.annotations.NullMarked;
