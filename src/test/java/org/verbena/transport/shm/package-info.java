/** Tests of the shared-memory transport. */
@NullMarked
package org.verbena.transport.shm;

import org.jspecify.annotations.NullMarked;
