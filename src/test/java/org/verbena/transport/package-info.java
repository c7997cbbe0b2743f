/** What every transport must do, as tests that each of them runs. */
@NullMarked
package org.verbena.transport;

import org.jspecify.annotations.NullMarked;
