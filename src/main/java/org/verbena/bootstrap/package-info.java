/**
 * Who is in the group: finding each other, exchanging addresses and keys, and checking that all
 * ranks were started alike. Slow, rare and collective; the fast path is the transport's.
 */
@NullMarked
package org.verbena.bootstrap;

import org.jspecify.annotations.NullMarked;
