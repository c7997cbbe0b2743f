/**
 * The one-sided moves that distributed inference needs beside the exchange: parameters into all
 * ranks, activations from stage to stage, results to one rank, and counters that all share. They
 * work on every transport, and all that are used in a group live in one window.
 */
@NullMarked
package org.verbena.collective;

import org.jspecify.annotations.NullMarked;
