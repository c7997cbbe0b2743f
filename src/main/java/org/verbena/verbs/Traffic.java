package org.verbena.verbs;

import java.lang.foreign.MemorySegment;
import org.verbena.ffi.ibv_ah_attr;
import org.verbena.ffi.ibv_global_route;

/**
 * How the network treats what is sent.
 *
 * @param serviceLevel 0 to 15
 * @param trafficClass IP traffic class on RoCE, 0 to 255
 * @param flowLabel IPv6 flow label, 20 bits; on RoCE v2 devices may choose the UDP source port by
 *     it
 * @param hopLimit IP hop limit on RoCE, 1 to 255; Linux may take that of its own route instead
 */
public record Traffic(int serviceLevel, int trafficClass, int flowLabel, int hopLimit) {
  /** Service level, class and flow label 0, hop limit 64. */
  public static final Traffic DEFAULTS = new Traffic(0, 0, 0, 64);

  public Traffic {
    Range.require("service level", serviceLevel, 0, 15);
    Range.require("traffic class", trafficClass, 0, 255);
    Range.require("flow label", flowLabel, 0, 0xf_ffff);
    Range.require("hop limit", hopLimit, 1, 255);
  }

  /** These settings with another service level. */
  public Traffic withServiceLevel(int level) {
    return new Traffic(level, trafficClass, flowLabel, hopLimit);
  }

  /** Fills an address: on Ethernet by GID with a global route header, on InfiniBand by LID. */
  void encode(MemorySegment attr, RdmaPath path, Gid gid, int lid) {
    ibv_ah_attr.port_num(attr, (byte) path.port().number());
    ibv_ah_attr.sl(attr, (byte) serviceLevel);
    if (path.isGlobal()) {
      ibv_ah_attr.is_global(attr, (byte) 1);
      MemorySegment route = ibv_ah_attr.grh(attr);
      gid.write(ibv_global_route.dgid(route), 0);
      ibv_global_route.sgid_index(route, (byte) path.gidIndex());
      ibv_global_route.hop_limit(route, (byte) hopLimit);
      ibv_global_route.traffic_class(route, (byte) trafficClass);
      ibv_global_route.flow_label(route, flowLabel);
    } else {
      ibv_ah_attr.dlid(attr, (short) lid);
    }
  }
}
