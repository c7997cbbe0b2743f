/** Tests of finding each other and of the collective control plane. */
@NullMarked
package org.verbena.bootstrap;

import org.jspecify.annotations.NullMarked;
