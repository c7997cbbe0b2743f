package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class PathSelectorTest {
  private static final Gid LINK_LOCAL = gid("fe80::1");
  private static final Gid IPV4 = gid("10.1.2.3");
  private static final Gid IPV6 = gid("2001:db8::5");
  private static final Gid NEIGHBOUR = gid("10.1.2.4");
  private static final Set<Gid> LOCAL =
      Stream.of(LINK_LOCAL, IPV4, IPV6, gid("169.254.3.4")).collect(Collectors.toSet());

  private static Gid gid(String address) {
    return Gid.of(InetAddress.ofLiteral(address));
  }

  private static PortAttributes port(int number, PortState state, LinkLayer link) {
    return new PortAttributes(
        number, state, Mtu.MTU_4096, Mtu.MTU_1024, link, 1 << 23, 1024, 1, 17, 1, 0, 1, 1, 5);
  }

  private static PathSelector.Candidate ethernet(String device, GidEntry... gids) {
    return new PathSelector.Candidate(
        device, port(1, PortState.ACTIVE, LinkLayer.ETHERNET), List.of(gids));
  }

  private static GidEntry entry(int index, Gid gid, GidType type) {
    return new GidEntry(1, index, gid, type, 2);
  }

  private static PathSelector.Result choose(PathSelector.Candidate... candidates) {
    return PathSelector.ANY.choose(List.of(candidates), LOCAL, List.of());
  }

  @Test
  void anIpv4AddressIsPreferredToIpv6AndThatToALinkLocalOne() {
    GidEntry linkLocal = entry(0, LINK_LOCAL, GidType.ROCE_V2);
    GidEntry ipv6 = entry(2, IPV6, GidType.ROCE_V2);
    GidEntry ipv4 = entry(7, IPV4, GidType.ROCE_V2);

    assertThat(choose(ethernet("a", linkLocal, ipv6, ipv4)).path().gidIndex()).isEqualTo(7);
    assertThat(choose(ethernet("a", linkLocal, ipv6)).path().gidIndex()).isEqualTo(2);
    assertThat(choose(ethernet("a", linkLocal)).path().gidIndex()).isZero();
    assertThat(
            choose(ethernet("a", entry(0, gid("169.254.3.4"), GidType.ROCE_V2), ipv6))
                .path()
                .gidIndex())
        .as("an IPv4 link-local address is no better than another")
        .isEqualTo(2);
  }

  @Test
  void holesAndRoceV1AreSkipped() {
    PathSelector.Result result =
        choose(ethernet("a", entry(1, IPV4, GidType.ROCE_V1), entry(9, IPV4, GidType.ROCE_V2)));
    assertThat(result.path().gidIndex()).isEqualTo(9);
    assertThat(result.rejected())
        .anyMatch(line -> line.contains("GID 1") && line.contains("not RoCE v2"));
  }

  @Test
  void anAddressOfAnotherNamespaceIsNotTaken() {
    PathSelector.Result result =
        choose(
            ethernet("rxe_other", entry(1, NEIGHBOUR, GidType.ROCE_V2)),
            ethernet("rxe_own", entry(1, IPV4, GidType.ROCE_V2)));
    assertThat(result.path().device()).isEqualTo("rxe_own");
    assertThat(result.rejected())
        .anyMatch(
            line ->
                line.startsWith("rxe_other") && line.contains("not an address of this network"));
  }

  @Test
  void aPortThatIsDownIsNotTaken() {
    PathSelector.Candidate down =
        new PathSelector.Candidate(
            "a",
            port(1, PortState.DOWN, LinkLayer.ETHERNET),
            List.of(entry(1, IPV4, GidType.ROCE_V2)));
    assertThat(choose(down, ethernet("b", entry(0, IPV6, GidType.ROCE_V2))).path().device())
        .isEqualTo("b");
    assertThatThrownBy(() -> choose(down))
        .isInstanceOf(VerbsException.class)
        .hasMessageContaining("a port 1: is DOWN");
  }

  @Test
  void whereNothingCanBeUsedEachIsNamed() {
    assertThatThrownBy(
            () ->
                PathSelector.ANY.choose(
                    List.of(ethernet("a", entry(3, NEIGHBOUR, GidType.ROCE_V2)), ethernet("b")),
                    LOCAL,
                    List.of("c: cannot be opened")))
        .hasMessageContainingAll(
            "c: cannot be opened", "a port 1 GID 3 ::ffff:10.1.2.4", "b port 1: has no GID");
    assertThatThrownBy(() -> choose()).hasMessageContaining("there is no device");
  }

  @Test
  void whatIsAskedForIsTakenWhateverItIs() {
    PathSelector.Candidate candidate =
        ethernet("a", entry(0, NEIGHBOUR, GidType.ROCE_V1), entry(1, IPV4, GidType.ROCE_V2));
    PathSelector first = new PathSelector("a", 1, 0);
    assertThat(first.choose(List.of(candidate), LOCAL, List.of()).path().gidType())
        .isEqualTo(GidType.ROCE_V1);
    assertThatThrownBy(
            () -> new PathSelector("", 0, 5).choose(List.of(candidate), LOCAL, List.of()))
        .hasMessageContaining("no GID at index 5");
    assertThatThrownBy(
            () -> new PathSelector("z", 0, -1).choose(List.of(candidate), LOCAL, List.of()))
        .hasMessageContainingAll("on z", "another device was asked for");
    assertThatThrownBy(
            () -> new PathSelector("", 2, -1).choose(List.of(candidate), LOCAL, List.of()))
        .hasMessageContaining("another port");
    assertThatThrownBy(() -> new PathSelector("", 0, 256))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void anInfinibandPortNeedsNoGid() {
    PathSelector.Result result =
        choose(
            new PathSelector.Candidate(
                "mlx", port(2, PortState.ACTIVE, LinkLayer.INFINIBAND), List.of()));
    assertThat(result.path().toString()).isEqualTo("mlx port 2 LID 17");
    assertThat(result.path().isGlobal()).isFalse();
  }

  @Test
  void ofEqualsTheFirstIsTakenAndTheOthersAreTold() {
    PathSelector.Result result =
        choose(
            ethernet("a", entry(1, IPV4, GidType.ROCE_V2)),
            ethernet("b", entry(1, IPV4, GidType.ROCE_V2)));
    assertThat(result.path().device()).isEqualTo("a");
    assertThat(result.reason()).contains("IPv4");
    assertThat(result.rejected())
        .singleElement()
        .asString()
        .startsWith("b port 1")
        .contains("not the best");
  }

  @Test
  void addressesOfThisHostAreFound() {
    assertThat(PathSelector.localGids()).contains(gid("127.0.0.1"));
  }

  @Test
  void aGidIsWrittenLikeItsAddress() {
    assertThat(IPV4).hasToString("::ffff:10.1.2.3");
    assertThat(IPV4.address().getHostAddress()).isEqualTo("10.1.2.3");
    assertThat(LINK_LOCAL).hasToString("fe80::1");
    assertThat(IPV6).hasToString("2001:db8::5");
    assertThat(new Gid(0, 0)).hasToString("::");
    assertThat(new Gid(0, 1)).hasToString("::1");
    assertThat(gid("1:2:0:3::4")).hasToString("1:2:0:3::4");
    assertThat(gid("1::")).hasToString("1::");
    assertThat(gid("1:2:3:4:5:6:7:8")).hasToString("1:2:3:4:5:6:7:8");
    assertThat(LINK_LOCAL.isLinkLocal()).isTrue();
    assertThat(IPV6.isIpv4()).isFalse();
    assertThat(new Gid(0, 0).isZero()).isTrue();
  }
}
