/**
 * Native RDMA for Java, and the expert-parallel exchange of mixture-of-experts inference.
 *
 * <p>Linking the library needs nothing but {@code java.base}: the vector module makes the sums of
 * rows faster where it is added ({@code --add-modules jdk.incubator.vector}), picocli and Jackson
 * serve the command line only.
 */
module org.verbena {
  requires static jdk.incubator.vector;
  requires static info.picocli;
  requires static org.jspecify;
  requires static tools.jackson.jr.ob;

  exports org.verbena.bootstrap;
  exports org.verbena.collective;
  exports org.verbena.layout;
  exports org.verbena.moe;
  exports org.verbena.transport;
  exports org.verbena.transport.rdma;
  exports org.verbena.transport.shm;
  exports org.verbena.verbs;

  opens org.verbena.cli to
      info.picocli;
}
