package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ProviderTest {
  private static Stream<String> mappings(String file) {
    return Stream.of(
        "55d0c0400000-55d0c0401000 r-xp 00000000 fe:01 1234     /usr/lib/jvm/bin/java",
        "7f0000000000-7f0000021000 rw-p 00000000 00:00 0 ",
        "7f0000100000-7f0000105000 r-xp 00002000 fe:01 777                        " + file,
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]");
  }

  @ParameterizedTest
  @CsvSource({
    "/usr/lib/x86_64-linux-gnu/libmlx5.so.1.24.50.0, true, true",
    "/usr/lib/x86_64-linux-gnu/libmlx4.so.1.0.50.0, true, true",
    "/usr/lib64/libefa.so.1.3.50.0 (deleted), true, true",
    "/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so, true, false",
    "/usr/lib/x86_64-linux-gnu/libibverbs/libsiw-rdmav34.so, true, false",
    "/usr/lib/x86_64-linux-gnu/libibverbs/libhfi1verbs-rdmav34.so, false, false",
    "/usr/lib/x86_64-linux-gnu/libibverbs/libirdma-rdmav34.so, false, false",
    "/opt/vendor/libother.so, false, false",
  })
  void whatStaysInUserSpaceIsToldByTheLibraryOfTheFunction(
      String file, boolean polls, boolean posts) {
    assertThat(Provider.of(0x7f0000104fffL, mappings(file))).isEqualTo(new Provider(polls, posts));
  }

  /** With sched_yield(2) for a device: it takes no notice of arguments and returns 0. */
  @Test
  void postsOfAProviderInUserSpaceAreCriticalCalls() {
    StandIn device = new StandIn();
    device.usePostSend(
        Linker.nativeLinker().defaultLookup().findOrThrow("sched_yield"),
        new Provider(false, true));
    try (Loop loop = new Loop(device, QueuePairOptions.DEFAULTS.withInline(8))) {
      SendRequests chain = loop.near.sendRequests(1, 1);
      chain.write(loop.remote.remote(), 0).fromLong(1).signaled().id(77);
      assertThat(loop.near.post(chain)).isTrue();
      assertThat(loop.near.freeSends()).isEqualTo(127);

      long id = RequestId.id(RequestId.tag(0, 1), 0);
      device.addCompletion(loop.sendQueue.handle(), device.completion(id, 0, loop.near.number()));
      assertThat(loop.poll()).isOne();
      assertThat(loop.found.id(0)).isEqualTo(77);
      assertThat(loop.near.freeSends()).isEqualTo(128);
      assertThat(device.seen).isEmpty();
    }
  }

  @Test
  void aFunctionThatLiesInNoLibraryIsOfAnUnknownProvider() {
    String file = "/usr/lib/libmlx5.so.1";
    assertThat(Provider.of(0x7f0000105000L, mappings(file))).isEqualTo(Provider.UNKNOWN);
    assertThat(Provider.of(0x7f0000000000L, mappings(file))).isEqualTo(Provider.UNKNOWN);
    assertThat(Provider.of(0xffffffffff600000L, mappings(file))).isEqualTo(Provider.UNKNOWN);
    assertThat(Provider.of(MemorySegment.ofAddress(8))).isEqualTo(Provider.UNKNOWN);
  }
}
