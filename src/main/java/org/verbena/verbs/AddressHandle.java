package org.verbena.verbs;

import java.lang.foreign.MemorySegment;

/**
 * The way to a port, for datagrams. Made by {@link ProtectionDomain#createAddressHandle};
 * thread-safe. It may be closed once all datagrams that use it have completed.
 */
public final class AddressHandle extends Resource {
  /**
   * What every received datagram begins with: its global route header. On RoCE v2 over IPv4 the
   * last 20 of these bytes are the IP header and the others hold nothing.
   */
  public static final int ROUTE_BYTES = 40;

  private final ProtectionDomain domain;
  private final MemorySegment handle;

  AddressHandle(ProtectionDomain domain, MemorySegment handle) {
    super(domain);
    this.domain = domain;
    this.handle = handle;
    attach();
  }

  ProtectionDomain domain() {
    return domain;
  }

  @Override
  MemorySegment handle() {
    return handle;
  }

  @Override
  int closingOrder() {
    return 1;
  }

  @Override
  void destroy() {
    try {
      domain.context().driver().destroyAh(handle);
    } catch (Errno e) {
      throw domain.context().failure("ibv_destroy_ah", e, "destroying an address handle");
    }
  }

  @Override
  public String toString() {
    return "address handle of " + domain.context().name();
  }
}
