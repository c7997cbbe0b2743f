/** JMH benchmarks: compiled with the tests, run by hand. */
@NullMarked
package org.verbena.benchmarks;

import org.jspecify.annotations.NullMarked;
