package org.verbena.moe;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.verbena.transport.Registration;
import org.verbena.transport.Transport;

/** What an engine has registered, to be found by what lies in it. Finding allocates nothing. */
final class Registrations {
  private final Transport transport;
  private final List<Registration> all = new ArrayList<>();

  Registrations(Transport transport) {
    this.transport = transport;
  }

  void add(MemorySegment memory) {
    for (Registration registration : all) {
      MemorySegment there = registration.memory();
      if (overlap(there, memory, memory.byteSize())) {
        throw refused(
            "register: %d bytes at %#x overlap the %d at %#x that are registered already"
                .formatted(memory.byteSize(), memory.address(), there.byteSize(), there.address()));
      }
    }
    all.add(transport.register(memory));
  }

  /** What was registered with this very memory. */
  Registration get(MemorySegment memory) {
    for (Registration registration : all) {
      MemorySegment there = registration.memory();
      if (there.address() == memory.address() && there.byteSize() == memory.byteSize()) {
        return registration;
      }
    }
    throw refused(
        "deregister: nothing was registered with %d bytes at %#x"
            .formatted(memory.byteSize(), memory.address()));
  }

  void remove(Registration registration) {
    registration.close();
    all.remove(registration);
  }

  /** In what these bytes lie as a whole, or null. */
  @Nullable Registration find(String operation, MemorySegment segment, long bytes) {
    for (int i = 0; i < all.size(); i++) {
      MemorySegment there = all.get(i).memory();
      if (overlap(there, segment, bytes)) {
        if (!there.scope().isAlive()) {
          throw refused(
              "%s: the memory registered at %#x was closed since; deregister it before that"
                  .formatted(operation, there.address()));
        }
        long before = segment.address() - there.address();
        return before >= 0 && before + bytes <= there.byteSize() ? all.get(i) : null;
      }
    }
    return null;
  }

  private static boolean overlap(MemorySegment there, MemorySegment segment, long bytes) {
    return segment.address() < there.address() + there.byteSize()
        && there.address() < segment.address() + bytes;
  }

  private IllegalArgumentException refused(String why) {
    return new IllegalArgumentException("rank %d: %s".formatted(transport.rank(), why));
  }
}
