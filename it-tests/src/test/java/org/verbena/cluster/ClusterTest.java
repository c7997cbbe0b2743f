package org.verbena.cluster;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A test class that needs RDMA hosts: its constructor and methods may take a {@link Cluster}.
 *
 * <p>All classes of a run share one cluster. It comes up with the first of them, and grows. After
 * each test every fault put on a node is undone; after each class the kernel's log is looked at.
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(ClusterExtension.class)
public @interface ClusterTest {
  /** How many nodes there are at least. */
  int nodes() default 2;
}
