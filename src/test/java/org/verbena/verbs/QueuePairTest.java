package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.verbena.ffi.IbverbsTypes;
import org.verbena.ffi.ibv_ah_attr;
import org.verbena.ffi.ibv_global_route;
import org.verbena.ffi.ibv_qp_attr;
import org.verbena.verbs.QueuePairAttributes.Name;

/** Making, connecting and closing queue pairs: what the device is told. */
class QueuePairTest {
  private static final Gid PEER = new Gid(0, 0xffff_0a00_0002L);

  private final StandIn device = new StandIn();
  private final Context context = device.open();
  private final ProtectionDomain domain = context.createProtectionDomain();
  private final CompletionQueue queue = context.createCompletionQueue(1024);

  @AfterEach
  void close() {
    context.close();
  }

  private QueuePair make(QueuePairOptions options) {
    return domain.createQueuePair(device.path(context), options, queue, queue);
  }

  private static Endpoint peer(Mtu mtu, int readDepth) {
    return new Endpoint(0xabcdef, 0x123456, PEER, GidType.ROCE_V2, 0, mtu, readDepth);
  }

  @Test
  void connectingOnEthernetGoesByGidWithTheSmallerMtuAndReadDepth() {
    device.activeMtu = Mtu.MTU_4096;
    QueuePair pair = make(QueuePairOptions.DEFAULTS.withTraffic(new Traffic(3, 0x68, 0xabcde, 63)));
    pair.connect(peer(Mtu.MTU_1024, 4));

    assertThat(device.modifications).hasSize(3);
    StandIn.Modification init = device.modifications.get(0);
    assertThat(init.mask())
        .isEqualTo(
            IbverbsTypes.IBV_QP_STATE()
                | IbverbsTypes.IBV_QP_PKEY_INDEX()
                | IbverbsTypes.IBV_QP_PORT()
                | IbverbsTypes.IBV_QP_ACCESS_FLAGS());
    assertThat(ibv_qp_attr.qp_state(init.attributes())).isEqualTo(IbverbsTypes.IBV_QPS_INIT());
    assertThat(ibv_qp_attr.port_num(init.attributes())).isEqualTo((byte) 1);
    assertThat(ibv_qp_attr.qp_access_flags(init.attributes())).isEqualTo(1 | 2 | 4 | 8);

    StandIn.Modification rtr = device.modifications.get(1);
    assertThat(rtr.mask())
        .isEqualTo(
            IbverbsTypes.IBV_QP_STATE()
                | IbverbsTypes.IBV_QP_AV()
                | IbverbsTypes.IBV_QP_PATH_MTU()
                | IbverbsTypes.IBV_QP_DEST_QPN()
                | IbverbsTypes.IBV_QP_RQ_PSN()
                | IbverbsTypes.IBV_QP_MAX_DEST_RD_ATOMIC()
                | IbverbsTypes.IBV_QP_MIN_RNR_TIMER());
    assertThat(ibv_qp_attr.path_mtu(rtr.attributes())).isEqualTo(IbverbsTypes.IBV_MTU_1024());
    assertThat(ibv_qp_attr.dest_qp_num(rtr.attributes())).isEqualTo(0xabcdef);
    assertThat(ibv_qp_attr.rq_psn(rtr.attributes())).isEqualTo(0x123456);
    assertThat(ibv_qp_attr.max_dest_rd_atomic(rtr.attributes())).isEqualTo((byte) 4);
    assertThat(ibv_qp_attr.min_rnr_timer(rtr.attributes())).isEqualTo((byte) 12);
    var address = ibv_qp_attr.ah_attr(rtr.attributes());
    assertThat(ibv_ah_attr.is_global(address)).isEqualTo((byte) 1);
    assertThat(ibv_ah_attr.dlid(address)).isZero();
    assertThat(ibv_ah_attr.sl(address)).isEqualTo((byte) 3);
    assertThat(ibv_ah_attr.port_num(address)).isEqualTo((byte) 1);
    var route = ibv_ah_attr.grh(address);
    assertThat(Gid.read(ibv_global_route.dgid(route), 0)).isEqualTo(PEER);
    assertThat(ibv_global_route.sgid_index(route)).isEqualTo((byte) 1);
    assertThat(ibv_global_route.hop_limit(route)).isEqualTo((byte) 63);
    assertThat(ibv_global_route.traffic_class(route)).isEqualTo((byte) 0x68);
    assertThat(ibv_global_route.flow_label(route)).isEqualTo(0xabcde);

    StandIn.Modification rts = device.modifications.get(2);
    assertThat(rts.mask())
        .isEqualTo(
            IbverbsTypes.IBV_QP_STATE()
                | IbverbsTypes.IBV_QP_TIMEOUT()
                | IbverbsTypes.IBV_QP_RETRY_CNT()
                | IbverbsTypes.IBV_QP_RNR_RETRY()
                | IbverbsTypes.IBV_QP_SQ_PSN()
                | IbverbsTypes.IBV_QP_MAX_QP_RD_ATOMIC());
    assertThat(ibv_qp_attr.sq_psn(rts.attributes())).isEqualTo(pair.endpoint().packetSequence());
    assertThat(ibv_qp_attr.max_rd_atomic(rts.attributes())).isEqualTo((byte) 4);
    assertThat(ibv_qp_attr.timeout(rts.attributes())).isEqualTo((byte) 14);
    assertThat(ibv_qp_attr.retry_cnt(rts.attributes())).isEqualTo((byte) 6);
    assertThat(ibv_qp_attr.rnr_retry(rts.attributes())).isEqualTo((byte) 6);
    assertThat(pair.state()).isEqualTo(QueuePairState.RTS);
    assertThat(pair.queryState()).isEqualTo(QueuePairState.RTS);
  }

  @Test
  void connectingOnInfinibandGoesByLid() {
    device.linkLayer = LinkLayer.INFINIBAND;
    device.lid = 0xbeef;
    QueuePair pair = make(QueuePairOptions.DEFAULTS);
    assertThat(pair.endpoint().lid()).isEqualTo(0xbeef);
    pair.connect(new Endpoint(1, 2, new Gid(0, 0), GidType.INFINIBAND, 0xfeed, Mtu.MTU_2048, 1));

    var address = ibv_qp_attr.ah_attr(device.modifications.get(1).attributes());
    assertThat(ibv_ah_attr.is_global(address)).isZero();
    assertThat(ibv_ah_attr.dlid(address)).isEqualTo((short) 0xfeed);
  }

  @Test
  void endsThatSpeakDifferentProtocolsAreNotConnected() {
    QueuePair pair = make(QueuePairOptions.DEFAULTS);
    pair.initialize();
    assertThatThrownBy(
            () ->
                pair.readyToReceive(new Endpoint(1, 2, PEER, GidType.ROCE_V1, 0, Mtu.MTU_1024, 1)))
        .hasMessageContainingAll("RoCE v2", "RoCE v1");
    assertThatThrownBy(
            () ->
                pair.readyToReceive(
                    new Endpoint(1, 2, new Gid(0, 0), GidType.ROCE_V2, 0, Mtu.MTU_1024, 1)))
        .hasMessageContaining("GID ::;");
    assertThat(pair.state()).isEqualTo(QueuePairState.INIT);
  }

  @Test
  void aNeighbourThatIsNotFoundAtOnceIsLookedUpAgain() {
    QueuePair pair = make(QueuePairOptions.DEFAULTS);
    pair.initialize();
    String step = "modify_qp " + IbverbsTypes.IBV_QPS_RTR();
    device.errors.put(step, Errno.ETIMEDOUT);
    assertThatThrownBy(() -> pair.readyToReceive(peer(Mtu.MTU_1024, 4)))
        .hasMessageContainingAll("ibv_modify_qp", "ETIMEDOUT", "from INIT to RTR");
    assertThat(Collections.frequency(device.calls, step)).isEqualTo(5);
    device.errors.put(step, Errno.EINVAL);
    assertThatThrownBy(() -> pair.readyToReceive(peer(Mtu.MTU_1024, 4)))
        .hasMessageContaining("EINVAL");
    assertThat(Collections.frequency(device.calls, step)).isEqualTo(6);
    device.errors.clear();
    pair.readyToReceive(peer(Mtu.MTU_1024, 4));
    assertThat(pair.state()).isEqualTo(QueuePairState.RTR);
  }

  @Test
  void aDeviceWithoutAtomicsIsNotAskedForThem() {
    device.atomics = 0;
    make(QueuePairOptions.DEFAULTS).initialize();
    assertThat(ibv_qp_attr.qp_access_flags(device.modifications.getLast().attributes()))
        .isEqualTo(1 | 2 | 4);
  }

  @Test
  void withoutReadsOnOneEndNoneArePosted() {
    QueuePair pair = make(QueuePairOptions.DEFAULTS);
    pair.connect(peer(Mtu.MTU_1024, 0));
    MemoryRegion region = domain.allocate(64, Access.REMOTE_ATOMIC);
    assertThatThrownBy(
            () -> pair.post(pair.sendRequests(1, 1).fetchAndAdd(region.remote(), 0, 1, region, 0)))
        .hasMessageContaining("read depth of 0");
    assertThat(ibv_qp_attr.max_rd_atomic(device.modifications.getLast().attributes())).isZero();
  }

  @Test
  void stepsThatDoNotExistNameBothStatesAndTouchNoDevice() {
    QueuePair pair = make(QueuePairOptions.DEFAULTS);
    for (QueuePairState to : EnumSet.complementOf(EnumSet.of(QueuePairState.INIT))) {
      assertThatThrownBy(() -> pair.modify(to, new QueuePairAttributes()))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("from RESET to " + to)
          .hasMessageContaining("[INIT]");
    }
    pair.initialize();
    assertThatThrownBy(() -> pair.readyToSend(peer(Mtu.MTU_1024, 1)))
        .hasMessageContaining("from INIT to RTS");
    assertThat(device.modifications).hasSize(1);
  }

  @Test
  void aStepNamesWhatIsMissingAndWhatDoesNotBelong() {
    QueuePair pair = make(QueuePairOptions.DEFAULTS);
    assertThatThrownBy(
            () ->
                pair.modify(
                    QueuePairState.INIT, new QueuePairAttributes().port(1).pathMtu(Mtu.MTU_256)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContainingAll(
            "from RESET to INIT", "missing [ACCESS, PKEY_INDEX]", "[PATH_MTU]");
    assertThat(device.modifications).isEmpty();
  }

  @Test
  void aRefusedStepNamesErrorStatesAttributesAndPath() {
    QueuePair pair = make(QueuePairOptions.DEFAULTS);
    device.errors.put("modify_qp 1", Errno.EINVAL);
    assertThatThrownBy(pair::initialize)
        .isInstanceOf(VerbsException.class)
        .hasMessageContainingAll(
            "ibv_modify_qp on fake0 failed: EINVAL",
            "from RESET to INIT",
            "PORT",
            "GID 1 ::ffff:10.0.0.1");
    assertThat(pair.state()).isEqualTo(QueuePairState.RESET);
    device.errors.clear();
  }

  @Test
  void attributesMayBeChangedWhileConnected() {
    QueuePair pair = make(QueuePairOptions.DEFAULTS);
    pair.connect(peer(Mtu.MTU_1024, 1));
    pair.modify(QueuePairState.RTS, new QueuePairAttributes().minRnrTimer(1).access(Set.of()));
    assertThat(device.modifications.getLast().mask())
        .isEqualTo(
            IbverbsTypes.IBV_QP_STATE()
                | IbverbsTypes.IBV_QP_MIN_RNR_TIMER()
                | IbverbsTypes.IBV_QP_ACCESS_FLAGS());
  }

  @Test
  void everyAttributeHasAMaskOfItsOwn() {
    int all = 0;
    for (Name name : Name.values()) {
      assertThat(name.mask()).isNotZero();
      assertThat(all & name.mask()).as(name.name()).isZero();
      all |= name.mask();
    }
  }

  @Test
  void inlineIsLoweredToWhatTheDeviceTakes() {
    device.mostInline = 100;
    QueuePair pair = make(QueuePairOptions.DEFAULTS.withInline(512));
    assertThat(pair.inlineBytes()).isEqualTo(64);
    assertThat(device.calls)
        .contains("create_qp inline 512", "create_qp inline 256", "create_qp inline 64");
  }

  @Test
  void optionsBeyondTheDeviceAreRefusedWithBothNumbers() {
    assertThatThrownBy(() -> make(QueuePairOptions.DEFAULTS.withDepths(4097, 1)))
        .hasMessageContainingAll("send depth is 4097", "at most 4096");
    assertThatThrownBy(() -> make(QueuePairOptions.DEFAULTS.withScatter(1, 33)))
        .hasMessageContainingAll("receive scatter is 33", "at most 32");
    assertThatThrownBy(() -> make(QueuePairOptions.DEFAULTS.withPkeyIndex(4)))
        .hasMessageContainingAll("P_Key index is 4", "at most 3");
    assertThatThrownBy(() -> QueuePairOptions.DEFAULTS.withRetries(32, 7, 12, 6))
        .hasMessageContaining("timeout is 32; it must be 0 to 31");
    assertThatThrownBy(() -> QueuePairOptions.DEFAULTS.withReadDepth(256))
        .hasMessageContaining("read depth is 256");
    assertThatThrownBy(() -> context.createCompletionQueue(32768))
        .hasMessageContaining("1 to 32767 completions, not 32768");
  }

  @Test
  void postingInTheWrongStateNamesIt() {
    QueuePair pair = make(QueuePairOptions.DEFAULTS);
    assertThatThrownBy(() -> pair.post(pair.sendRequests(1, 1).send()))
        .hasMessageContainingAll("is in RESET", "needs RTS");
    assertThatThrownBy(() -> pair.post(pair.receiveRequests(1, 1).receive(0)))
        .hasMessageContainingAll("is in RESET", "needs INIT");
    pair.initialize();
    assertThat(pair.post(pair.receiveRequests(1, 1).receive(0))).isTrue();
  }

  @Test
  void sequenceNumbersHaveTwentyFourBits() {
    for (int i = 0; i < 100; i++) {
      assertThat(make(QueuePairOptions.DEFAULTS.withDepths(1, 1)).endpoint().packetSequence())
          .isBetween(0, 0xff_ffff);
    }
    assertThatThrownBy(
            () -> new Endpoint(1, 0xffff_ffff, PEER, GidType.ROCE_V2, 0, Mtu.MTU_1024, 1))
        .hasMessageContaining("24 bits");
  }

  @Test
  void anEndpointSurvivesItsEncoding() {
    Endpoint endpoint =
        new Endpoint(0xffffff, 0xfffffe, PEER, GidType.ROCE_V2, 0xffff, Mtu.MTU_4096, 255);
    assertThat(endpoint.encode()).hasSize(Endpoint.BYTES);
    assertThat(Endpoint.decode(ByteBuffer.wrap(endpoint.encode()))).isEqualTo(endpoint);
    assertThatThrownBy(() -> Endpoint.decode(ByteBuffer.allocate(5)))
        .isInstanceOf(IllegalArgumentException.class);
    byte[] wrong = endpoint.encode();
    wrong[24] = 9;
    assertThatThrownBy(() -> Endpoint.decode(ByteBuffer.wrap(wrong)))
        .hasMessageContaining("no GID type has the number 9");
  }
}
