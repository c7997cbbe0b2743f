package org.verbena.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RendezvousTest {
  @TempDir Path dir;

  @ParameterizedTest
  @CsvSource({
    "head:29501, head, 29501",
    "10.0.0.1:1, 10.0.0.1, 1",
    "[::1]:65535, ::1, 65535",
    "[::ffff:1.2.3.4]:7, ::ffff:1.2.3.4, 7",
    "[fe80::1%eth0]:7, fe80::1%eth0, 7"
  })
  void addressesAreReadAndWrittenAlike(String text, String host, int port) {
    Rendezvous rendezvous = new Rendezvous.At(host, port);
    assertThat(Rendezvous.parse(text)).isEqualTo(rendezvous);
    assertThat(rendezvous).hasToString(text);
  }

  @Test
  void filesAreReadAndWrittenAlike() {
    Rendezvous rendezvous = new Rendezvous.InFile(Path.of("/shared/a b"));
    assertThat(Rendezvous.parse("file:/shared/a b")).isEqualTo(rendezvous);
    assertThat(Rendezvous.parse("file:///shared/a%20b")).isEqualTo(rendezvous);
    assertThat(rendezvous).hasToString("file:/shared/a b");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "head",
        ":29501",
        "head:",
        "head:port",
        "::1:29501",
        "head:65536",
        "head:-1",
        "file:",
        "[fe80::1]:29501"
      })
  void whatIsNoRendezvousIsRefused(String text) {
    assertThatIllegalArgumentException().isThrownBy(() -> Rendezvous.parse(text));
  }

  @Test
  void portZeroIsRefusedWithTheWayToHaveOneChosen() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Rendezvous.parse("head:0"))
        .withMessageContaining("file:/");
  }

  @Test
  void whatIsPublishedIsForItsOwnerAloneAndLeavesNoDraft() throws Exception {
    Path file = dir.resolve("rendezvous");
    Published published =
        new Published(
            "token",
            List.of(
                new InetSocketAddress(address("10.1.2.3"), 7),
                new InetSocketAddress(address("2001:db8::7"), 7)));
    published.write(file);
    assertThat(Published.read(file)).isEqualTo(published);
    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
        .isEqualTo("rw-------");
    try (var files = Files.list(dir)) {
      assertThat(files).containsExactly(file);
    }
    assertThat(published.isIn(file)).isTrue();
    new Published("another", published.addresses()).write(file);
    assertThat(published.isIn(file)).isFalse();
    Files.delete(file);
    assertThat(published.isIn(file)).isFalse();
  }

  @Test
  void neverLoopbackOrLinkLocalIsPublishedForOtherHosts() throws Exception {
    List<InetAddress> addresses = new ArrayList<>();
    for (String text :
        List.of(
            "127.0.0.1",
            "127.0.1.1",
            "2001:db8::1",
            "::1",
            "10.0.0.1",
            "fe80::1",
            "169.254.1.1",
            "172.17.0.1")) {
      addresses.add(address(text));
    }
    assertThat(Addresses.outward(addresses))
        .containsExactly(address("10.0.0.1"), address("172.17.0.1"), address("2001:db8::1"));
  }

  @Test
  void rankZeroListensOnLoopbackOnlyIfAllAreKnownToBeThere() throws Exception {
    Rendezvous named = new Rendezvous.At("head", 7);
    Rendezvous file = new Rendezvous.InFile(dir.resolve("rendezvous"));
    assertThat(Addresses.toListen(OneHost.membership(0, 2, named)).getAddress().isLoopbackAddress())
        .isTrue();
    assertThat(Addresses.toListen(OneHost.membership(0, 2, file)).getAddress().isLoopbackAddress())
        .isTrue();
    assertThat(Addresses.toListen(Membership.of(0, 2, named)).getAddress().isAnyLocalAddress())
        .isTrue();
    assertThat(Addresses.toListen(Membership.of(0, 2, file)).getAddress().isAnyLocalAddress())
        .isTrue();
    Rendezvous loopback = new Rendezvous.At("127.0.0.1", 7);
    assertThat(Addresses.toListen(Membership.of(0, 2, loopback)).getAddress().isLoopbackAddress())
        .isTrue();
  }

  private static InetAddress address(String literal) throws Exception {
    return InetAddress.ofLiteral(literal);
  }
}
