package org.verbena.moe;

import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.shm.ShmTransport;

class ShmExchangeTest extends ExchangeContract {
  @TempDir Path directory;

  @Override
  TransportProvider provider() {
    return ShmTransport.provider(directory);
  }
}
