package org.verbena.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.verbena.verbs.Gid;

class PingpongAddressTest {
  private static final String TEXT = "00ff:000012:abcdef:00000000000000000000ffff0a000001\0";

  @Test
  void theFormIsThatOfTheExampleProgram() {
    PingpongAddress address =
        new PingpongAddress(0xff, 0x12, 0xabcdef, new Gid(0, 0xffff_0a00_0001L));
    byte[] bytes = TEXT.getBytes(StandardCharsets.US_ASCII);

    assertThat(address.encode()).isEqualTo(bytes).hasSize(PingpongAddress.BYTES);
    assertThat(PingpongAddress.decode(bytes)).isEqualTo(address);
    assertThat(address).hasToString("LID 0x00ff, QPN 0x000012, PSN 0xabcdef, GID ::ffff:10.0.0.1");
  }

  @Test
  void anythingElseIsRefused() {
    for (String wrong : new String[] {"", "GET / HTTP/1.1", TEXT.replace(':', ' ')}) {
      assertThatThrownBy(() -> PingpongAddress.decode(wrong.getBytes(StandardCharsets.US_ASCII)))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("no pingpong");
    }
  }
}
