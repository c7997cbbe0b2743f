/**
 * The transport between hosts: windows are registered memory, and ranks write into each other's by
 * RDMA over reliable connections.
 */
@NullMarked
package org.verbena.transport.rdma;

import org.jspecify.annotations.NullMarked;
