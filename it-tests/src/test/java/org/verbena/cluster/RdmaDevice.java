package org.verbena.cluster;

import java.util.HashMap;
import java.util.Map;

/**
 * The RDMA device of a node, as its entry point found it.
 *
 * @param name the device's name; all nodes see each other's devices, so choose by this
 * @param port the port, from 1
 * @param gidIndex the index of the RoCE v2 GID that maps {@code address}
 * @param gid that GID, as sysfs prints it
 * @param address the IPv4 address of the node's network interface
 */
public record RdmaDevice(String name, int port, int gidIndex, String gid, String address) {
  /** Reads the lines {@code key=value} that the entry point of a node writes. */
  static RdmaDevice parse(String text) {
    Map<String, String> fields = new HashMap<>();
    for (String line : text.lines().toList()) {
      int equals = line.indexOf('=');
      if (equals > 0) {
        fields.put(line.substring(0, equals), line.substring(equals + 1));
      }
    }
    return new RdmaDevice(
        field(fields, "device"),
        Integer.parseInt(field(fields, "port")),
        Integer.parseInt(field(fields, "gid_index")),
        field(fields, "gid"),
        field(fields, "address"));
  }

  private static String field(Map<String, String> fields, String name) {
    String value = fields.get(name);
    if (value == null) {
      throw new ClusterException("The node's device lacks " + name + ": " + fields);
    }
    return value;
  }
}
