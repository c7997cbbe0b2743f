package org.verbena.bootstrap;

import java.time.Duration;
import java.util.List;

class LocalGroupTest extends GroupContract {
  @Override
  List<? extends Group> members(int size, Duration timeout) {
    return LocalGroup.of(size, timeout);
  }
}
