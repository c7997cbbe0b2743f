package org.verbena.verbs;

import java.util.List;
import java.util.Map;

/**
 * All devices that could be opened; closing closes them.
 *
 * @param opened the devices
 * @param passedOver those that could not be opened, by name
 */
public record Devices(List<Context> opened, Map<String, VerbsException> passedOver)
    implements AutoCloseable {
  @Override
  public void close() {
    Resource.runAll(opened.stream().<Runnable>map(context -> context::close).toList());
  }

  List<String> reasons() {
    return passedOver.entrySet().stream()
        .map(entry -> entry.getKey() + ": cannot be opened: " + entry.getValue().getMessage())
        .toList();
  }
}
