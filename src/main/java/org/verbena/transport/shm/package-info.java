/** The transport between processes of one machine: windows are mapped files. */
@NullMarked
package org.verbena.transport.shm;

import org.jspecify.annotations.NullMarked;
