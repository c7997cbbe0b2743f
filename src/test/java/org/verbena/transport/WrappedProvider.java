package org.verbena.transport;

import java.util.function.BiFunction;
import org.verbena.bootstrap.Group;

/**
 * A provider whose transports are seen, or replaced, when they are opened.
 *
 * @param wrap what to make of an opened transport
 */
public record WrappedProvider(
    TransportProvider provider, BiFunction<Group, Transport, Transport> wrap)
    implements TransportProvider {
  @Override
  public String name() {
    return provider.name();
  }

  @Override
  public boolean isDirect() {
    return provider.isDirect();
  }

  @Override
  public Transport open(Group group, long windowBytes) {
    return wrap.apply(group, provider.open(group, windowBytes));
  }
}
