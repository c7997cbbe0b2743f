/** Tests that need a cluster of RDMA hosts, and what brings the cluster up. */
@NullMarked
package org.verbena.cluster;

import org.jspecify.annotations.NullMarked;
