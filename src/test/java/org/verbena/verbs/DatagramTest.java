package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.verbena.ffi.IbverbsTypes;
import org.verbena.ffi.ibv_ah_attr;
import org.verbena.ffi.ibv_global_route;
import org.verbena.ffi.ibv_qp_attr;

/** Queue pairs for datagrams and the addresses they send to: what the device is told. */
class DatagramTest {
  private static final int KEY = 0x1111_1111;
  private static final Gid PEER = new Gid(0, 0xffff_0a00_0002L);

  private final StandIn device = new StandIn();
  private final Context context = device.open();
  private final RdmaPath path = device.path(context);
  private final ProtectionDomain domain = context.createProtectionDomain();
  private final CompletionQueue sends = context.createCompletionQueue(256);
  private final CompletionQueue receives = context.createCompletionQueue(256);
  private final QueuePair near = make(QueuePairOptions.DEFAULTS.withPkeyIndex(3));
  private final QueuePair far = make(QueuePairOptions.DEFAULTS.withInline(64));
  private final AddressHandle there = domain.createAddressHandle(path, PEER, 0, Traffic.DEFAULTS);
  private final MemoryRegion memory = domain.allocate(4096, Access.LOCAL_WRITE);
  private final Completions found = new Completions(8);

  @AfterEach
  void close() {
    context.close();
  }

  private QueuePair make(QueuePairOptions options) {
    return domain.createDatagramPair(
        path, options.withDepths(64, 64).withScatter(2, 1), sends, receives, KEY);
  }

  @Test
  void activatingTellsPartitionPortAndKeyAndNoPeer() {
    near.activate();
    StandIn.Modification init = device.modifications.get(0);
    assertThat(init.mask())
        .isEqualTo(
            IbverbsTypes.IBV_QP_STATE()
                | IbverbsTypes.IBV_QP_PKEY_INDEX()
                | IbverbsTypes.IBV_QP_PORT()
                | IbverbsTypes.IBV_QP_QKEY());
    assertThat(ibv_qp_attr.qkey(init.attributes())).isEqualTo(KEY);
    assertThat(ibv_qp_attr.pkey_index(init.attributes())).isEqualTo((short) 3);
    assertThat(device.modifications.get(1).mask()).isEqualTo(IbverbsTypes.IBV_QP_STATE());
    assertThat(device.modifications.get(2).mask())
        .isEqualTo(IbverbsTypes.IBV_QP_STATE() | IbverbsTypes.IBV_QP_SQ_PSN());
    assertThat(near.state()).isEqualTo(QueuePairState.RTS);
    assertThat(near.isDatagram()).isTrue();
  }

  @Test
  void aDatagramArrivesBehindItsRoute() {
    near.activate();
    far.activate();
    far.post(far.receiveRequests(1, 1).receive(9).into(memory, 0, 104));
    memory.memory().set(ValueLayout.JAVA_LONG, 1024, 4711);
    near.post(
        near.sendRequests(1, 1)
            .sendToWithImmediate(there, far.number(), KEY, 77)
            .from(memory, 1024, 64)
            .signaled());
    assertThat(sends.poll(found)).isOne();
    assertThat(receives.poll(found)).isOne();
    assertThat(found.id(0)).isEqualTo(9);
    assertThat(found.byteLength(0)).isEqualTo(104);
    assertThat(found.sourceQueuePair(0)).isEqualTo(near.number());
    assertThat(found.hasRoute(0)).isTrue();
    assertThat(found.immediate(0)).isEqualTo(77);
    assertThat(memory.memory().get(ValueLayout.JAVA_LONG, AddressHandle.ROUTE_BYTES))
        .isEqualTo(4711);
  }

  @Test
  void aDatagramWithTheWrongKeyIsLostInSilence() {
    near.activate();
    far.activate();
    far.post(far.receiveRequests(1, 1).receive(9).into(memory, 0, 104));
    near.post(near.sendRequests(1, 0).sendTo(there, far.number(), KEY + 1).signaled());
    assertThat(sends.poll(found)).isOne();
    assertThat(found.status(0)).isEqualTo(Status.SUCCESS);
    assertThat(receives.poll(found)).isZero();
  }

  @Test
  void anAddressCarriesTheTrafficSettings() {
    AddressHandle handle =
        domain.createAddressHandle(path, PEER, 0, new Traffic(5, 0x20, 0x12345, 7));
    var attr = device.address(handle);
    assertThat(ibv_ah_attr.is_global(attr)).isEqualTo((byte) 1);
    assertThat(ibv_ah_attr.sl(attr)).isEqualTo((byte) 5);
    assertThat(ibv_ah_attr.port_num(attr)).isEqualTo((byte) 1);
    var route = ibv_ah_attr.grh(attr);
    assertThat(Gid.read(ibv_global_route.dgid(route), 0)).isEqualTo(PEER);
    assertThat(ibv_global_route.sgid_index(route)).isEqualTo((byte) 1);
    assertThat(ibv_global_route.traffic_class(route)).isEqualTo((byte) 0x20);
    assertThat(ibv_global_route.flow_label(route)).isEqualTo(0x12345);
    assertThat(ibv_global_route.hop_limit(route)).isEqualTo((byte) 7);
  }

  @Test
  void anAddressOnInfinibandHasALid() {
    device.linkLayer = LinkLayer.INFINIBAND;
    AddressHandle handle =
        domain.createAddressHandle(device.path(context), new Gid(0, 0), 0xbeef, Traffic.DEFAULTS);
    assertThat(ibv_ah_attr.is_global(device.address(handle))).isZero();
    assertThat(ibv_ah_attr.dlid(device.address(handle))).isEqualTo((short) 0xbeef);
  }

  @Test
  void addressesThatCannotBeAreRefused() {
    assertThatThrownBy(() -> domain.createAddressHandle(path, new Gid(0, 0), 0, Traffic.DEFAULTS))
        .hasMessageContaining("needs a GID");
    assertThatThrownBy(() -> new Traffic(16, 0, 0, 1)).hasMessageContaining("service level is 16");
    assertThatThrownBy(() -> new Traffic(0, 256, 0, 1)).hasMessageContaining("class is 256");
    assertThatThrownBy(() -> new Traffic(0, 0, 1 << 20, 1))
        .hasMessageContaining("label is 1048576");
    assertThatThrownBy(() -> new Traffic(0, 0, 0, 0)).hasMessageContaining("hop limit is 0");
    device.errors.put("create_ah", Errno.EINVAL);
    assertThatThrownBy(() -> domain.createAddressHandle(path, PEER, 0, Traffic.DEFAULTS))
        .hasMessageContainingAll("ibv_create_ah", "EINVAL", "10.0.0.2");
  }

  @Test
  void datagramsAndConnectionsAreNotMixed() {
    near.activate();
    RemoteRegion remote = memory.remote();
    SendRequests chain = near.sendRequests(4, 1);
    assertThatThrownBy(() -> chain.write(remote, 0)).hasMessageContaining("datagrams only");
    assertThatThrownBy(() -> chain.read(remote, 0)).hasMessageContaining("datagrams only");
    assertThatThrownBy(chain::send).hasMessageContaining("datagrams only");
    assertThatThrownBy(() -> chain.fetchAndAdd(remote, 0, 1, memory, 0))
        .hasMessageContaining("datagrams only");
    assertThat(chain.size()).isZero();
    assertThatThrownBy(() -> far.connect(near.endpoint()))
        .hasMessageContainingAll("from INIT to RTR", "not belonging");

    QueuePair connected =
        domain.createQueuePair(path, QueuePairOptions.DEFAULTS.withDepths(8, 8), sends, receives);
    assertThatThrownBy(() -> connected.sendRequests(1, 1).sendTo(there, 1, KEY))
        .hasMessageContaining("sends to its peer alone");
    assertThatThrownBy(connected::activate).hasMessageContaining("from INIT to RTR");
  }

  @Test
  void aDatagramIsAtMostAsLongAsTheMtu() {
    near.activate();
    SendRequests chain = near.sendRequests(1, 2).sendTo(there, far.number(), KEY);
    chain.from(memory, 0, 1024);
    assertThatThrownBy(() -> chain.from(memory, 0, 1)).hasMessageContaining("has 1024 from here");
  }

  @Test
  void anAddressOfAnotherDomainOrClosedIsRefused() {
    AddressHandle other =
        context.createProtectionDomain().createAddressHandle(path, PEER, 0, Traffic.DEFAULTS);
    assertThatThrownBy(() -> near.sendRequests(1, 1).sendTo(other, 1, KEY))
        .hasMessageContaining("another protection domain");
    there.close();
    assertThatThrownBy(() -> near.sendRequests(1, 1).sendTo(there, 1, KEY))
        .isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() -> near.sendRequests(1, 1).sendTo(other, 1 << 24, KEY))
        .hasMessageContaining("queue pair number");
  }

  @Test
  void aPartitionKeyIsRead() {
    assertThat(context.pkey(1, 0)).isEqualTo(0xffff);
    assertThat(context.pkey(1, 5)).isEqualTo(0xfffa);
    device.errors.put("query_pkey", Errno.EINVAL);
    assertThatThrownBy(() -> context.pkey(1, 9))
        .hasMessageContainingAll("ibv_query_pkey", "EINVAL", "place 9 of port 1");
  }
}
