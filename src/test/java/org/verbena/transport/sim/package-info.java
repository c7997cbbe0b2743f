/**
 * A transport whose ranks share one thread: what they send arrives when a schedule says so, and the
 * rules that transports and exchanges live by are checked on the way.
 */
@NullMarked
package org.verbena.transport.sim;

import org.jspecify.annotations.NullMarked;
