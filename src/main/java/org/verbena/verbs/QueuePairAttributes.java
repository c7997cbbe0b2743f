package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.verbena.ffi.IbverbsTypes;
import org.verbena.ffi.ibv_qp_attr;

/** Attributes for {@link QueuePair#modify}: those that were set here, and no others. */
public final class QueuePairAttributes {
  /** An attribute of a queue pair. */
  public enum Name {
    ACCESS(IbverbsTypes.IBV_QP_ACCESS_FLAGS()),
    PKEY_INDEX(IbverbsTypes.IBV_QP_PKEY_INDEX()),
    PORT(IbverbsTypes.IBV_QP_PORT()),
    QKEY(IbverbsTypes.IBV_QP_QKEY()),
    ADDRESS(IbverbsTypes.IBV_QP_AV()),
    PATH_MTU(IbverbsTypes.IBV_QP_PATH_MTU()),
    TIMEOUT(IbverbsTypes.IBV_QP_TIMEOUT()),
    RETRY_COUNT(IbverbsTypes.IBV_QP_RETRY_CNT()),
    RNR_RETRY(IbverbsTypes.IBV_QP_RNR_RETRY()),
    RECEIVE_SEQUENCE(IbverbsTypes.IBV_QP_RQ_PSN()),
    INITIATOR_READS(IbverbsTypes.IBV_QP_MAX_QP_RD_ATOMIC()),
    MIN_RNR_TIMER(IbverbsTypes.IBV_QP_MIN_RNR_TIMER()),
    SEND_SEQUENCE(IbverbsTypes.IBV_QP_SQ_PSN()),
    RESPONDER_READS(IbverbsTypes.IBV_QP_MAX_DEST_RD_ATOMIC()),
    DESTINATION(IbverbsTypes.IBV_QP_DEST_QPN());

    private final int mask;

    Name(int mask) {
      this.mask = mask;
    }

    int mask() {
      return mask;
    }
  }

  private record Address(RdmaPath path, Endpoint remote, Traffic traffic) {}

  private final Map<Name, Integer> values = new EnumMap<>(Name.class);
  private @Nullable Address address;

  /** No attributes yet. */
  public QueuePairAttributes() {}

  private QueuePairAttributes set(Name name, int value, int most) {
    Range.require(name.name(), value, 0, most);
    values.put(name, value);
    return this;
  }

  /** What peers may do through the queue pair; a region's own access narrows it. */
  public QueuePairAttributes access(Set<Access> access) {
    return set(Name.ACCESS, Access.flags(access), Integer.MAX_VALUE);
  }

  /** The partition, by its place in the port's table. */
  public QueuePairAttributes pkeyIndex(int index) {
    return set(Name.PKEY_INDEX, index, 0xffff);
  }

  /** The port, from 1. */
  public QueuePairAttributes port(int number) {
    return set(Name.PORT, number, 0xff);
  }

  /** The key that datagrams must carry; all 32 bits are taken as they are. */
  public QueuePairAttributes qkey(int key) {
    values.put(Name.QKEY, key);
    return this;
  }

  /** The MTU of the path: the smaller of both ends'. */
  public QueuePairAttributes pathMtu(Mtu mtu) {
    return set(Name.PATH_MTU, mtu.value(), 5);
  }

  /** The number of the peer's queue pair. */
  public QueuePairAttributes destination(int queuePair) {
    return set(Name.DESTINATION, queuePair, 0xff_ffff);
  }

  /** The number of the peer's first packet. */
  public QueuePairAttributes receiveSequence(int number) {
    return set(Name.RECEIVE_SEQUENCE, number, 0xff_ffff);
  }

  /** The number of the first packet sent. */
  public QueuePairAttributes sendSequence(int number) {
    return set(Name.SEND_SEQUENCE, number, 0xff_ffff);
  }

  /** Reads and atomics of the peer that may be under way. */
  public QueuePairAttributes responderReads(int depth) {
    return set(Name.RESPONDER_READS, depth, 0xff);
  }

  /** Own reads and atomics that may be under way: not more than the peer's responder takes. */
  public QueuePairAttributes initiatorReads(int depth) {
    return set(Name.INITIATOR_READS, depth, 0xff);
  }

  /** See {@link QueuePairOptions#minRnrTimer()}. */
  public QueuePairAttributes minRnrTimer(int code) {
    return set(Name.MIN_RNR_TIMER, code, 31);
  }

  /** See {@link QueuePairOptions#timeout()}. */
  public QueuePairAttributes timeout(int code) {
    return set(Name.TIMEOUT, code, 31);
  }

  /** See {@link QueuePairOptions#retryCount()}. */
  public QueuePairAttributes retryCount(int retries) {
    return set(Name.RETRY_COUNT, retries, 7);
  }

  /** See {@link QueuePairOptions#rnrRetry()}. */
  public QueuePairAttributes rnrRetry(int retries) {
    return set(Name.RNR_RETRY, retries, 7);
  }

  /** The way to {@code remote} from {@code path}. */
  public QueuePairAttributes address(RdmaPath path, Endpoint remote, Traffic traffic) {
    address = new Address(path, remote, traffic);
    values.put(Name.ADDRESS, 0);
    return this;
  }

  Set<Name> names() {
    return values.isEmpty() ? EnumSet.noneOf(Name.class) : EnumSet.copyOf(values.keySet());
  }

  int mask() {
    int mask = IbverbsTypes.IBV_QP_STATE();
    for (Name name : values.keySet()) {
      mask |= name.mask;
    }
    return mask;
  }

  /** The {@code struct ibv_qp_attr} that asks for {@code to}. */
  MemorySegment encode(Arena arena, QueuePairState to) {
    MemorySegment attr = ibv_qp_attr.allocate(arena);
    ibv_qp_attr.qp_state(attr, to.value());
    values.forEach((name, value) -> encode(attr, name, value));
    if (address != null) {
      address.traffic.encode(
          ibv_qp_attr.ah_attr(attr), address.path, address.remote.gid(), address.remote.lid());
    }
    return attr;
  }

  private void encode(MemorySegment attr, Name name, int value) {
    switch (name) {
      case ACCESS -> ibv_qp_attr.qp_access_flags(attr, value);
      case PKEY_INDEX -> ibv_qp_attr.pkey_index(attr, (short) value);
      case PORT -> ibv_qp_attr.port_num(attr, (byte) value);
      case QKEY -> ibv_qp_attr.qkey(attr, value);
      case ADDRESS -> {} // not a number
      case PATH_MTU -> ibv_qp_attr.path_mtu(attr, value);
      case TIMEOUT -> ibv_qp_attr.timeout(attr, (byte) value);
      case RETRY_COUNT -> ibv_qp_attr.retry_cnt(attr, (byte) value);
      case RNR_RETRY -> ibv_qp_attr.rnr_retry(attr, (byte) value);
      case RECEIVE_SEQUENCE -> ibv_qp_attr.rq_psn(attr, value);
      case INITIATOR_READS -> ibv_qp_attr.max_rd_atomic(attr, (byte) value);
      case MIN_RNR_TIMER -> ibv_qp_attr.min_rnr_timer(attr, (byte) value);
      case SEND_SEQUENCE -> ibv_qp_attr.sq_psn(attr, value);
      case RESPONDER_READS -> ibv_qp_attr.max_dest_rd_atomic(attr, (byte) value);
      case DESTINATION -> ibv_qp_attr.dest_qp_num(attr, value);
    }
  }
}
