/** Tests of the transport between hosts. */
@NullMarked
package org.verbena.transport.rdma;

import org.jspecify.annotations.NullMarked;
