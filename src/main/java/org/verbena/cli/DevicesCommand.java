package org.verbena.cli;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.verbena.verbs.Context;
import org.verbena.verbs.DeviceAttributes;
import org.verbena.verbs.Devices;
import org.verbena.verbs.GidEntry;
import org.verbena.verbs.PathChoice;
import org.verbena.verbs.PortAttributes;
import org.verbena.verbs.Verbs;
import org.verbena.verbs.VerbsException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code verbena devices}: the RDMA devices of this host, and the one that would be used. */
@Command(
    name = "devices",
    mixinStandardHelpOptions = true,
    description = {
      "Shows the RDMA devices of this host as ibv_devinfo does, and which device, port and GID",
      "would be used, why, and why not the others."
    })
final class DevicesCommand implements Callable<Integer> {
  @Option(
      names = {"-v", "--verbose"},
      description = "Show all limits and GIDs.")
  private boolean verbose;

  @Option(names = "--json", description = "Print as JSON, always with all there is.")
  private boolean json;

  @Mixin private RdmaOptions rdma;

  @Override
  public Integer call() {
    List<Map<String, Object>> devices = new ArrayList<>();
    try (Devices all = Verbs.openAll()) {
      for (Context context : all.opened()) {
        devices.add(describe(context));
      }
      PathChoice choice = rdma.open();
      choice.context().close();
      print(devices, choice);
      return ExitCode.OK;
    } catch (VerbsException e) {
      print(devices, e);
      return ExitCode.FAILED;
    }
  }

  private void print(List<Map<String, Object>> devices, PathChoice choice) {
    if (json) {
      Map<String, Object> chosen = new LinkedHashMap<>();
      chosen.put("device", choice.path().device());
      chosen.put("port", choice.path().port().number());
      chosen.put("gid_index", choice.path().gidIndex());
      chosen.put("gid", choice.path().gid().toString());
      chosen.put("gid_type", choice.path().gidType().toString());
      chosen.put("reason", choice.reason());
      printJson(devices, "chosen", chosen, choice.rejected());
    } else {
      devices.forEach(this::print);
      System.out.printf("would use: %s%n  because: %s%n", choice.path(), choice.reason());
      choice.rejected().forEach(line -> System.out.println("  not:     " + line));
    }
  }

  private void print(List<Map<String, Object>> devices, VerbsException problem) {
    if (json) {
      printJson(devices, "problem", String.valueOf(problem.getMessage()), List.of());
    } else {
      devices.forEach(this::print);
    }
    System.err.println("verbena: " + problem.getMessage());
  }

  private static void printJson(
      List<Map<String, Object>> devices, String name, Object outcome, List<String> rejected) {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("devices", devices);
    all.put(name, outcome);
    all.put("rejected", rejected);
    System.out.println(Json.of(all));
  }

  private static Map<String, Object> describe(Context context) {
    DeviceAttributes limits = context.attributes();
    Map<String, Object> device = new LinkedHashMap<>();
    device.put("hca_id", context.name());
    device.put("fw_ver", limits.firmware());
    device.put("node_guid", guid(limits.nodeGuid()));
    device.put("sys_image_guid", guid(limits.systemImageGuid()));
    device.put("vendor_id", "0x%04x".formatted(limits.vendorId()));
    device.put("vendor_part_id", limits.vendorPart());
    device.put("hw_ver", "0x%X".formatted(limits.hardwareVersion()));
    device.put("phys_port_cnt", limits.ports());
    device.put("limits", describe(limits));
    List<Object> ports = new ArrayList<>();
    List<GidEntry> gids = context.gids();
    for (PortAttributes port : context.ports()) {
      ports.add(describe(port, gids));
    }
    device.put("ports", ports);
    return device;
  }

  private static Map<String, Object> describe(DeviceAttributes limits) {
    Map<String, Object> map = new LinkedHashMap<>();
    map.put("max_mr_size", "0x%x".formatted(limits.maxRegionBytes()));
    map.put("page_size_cap", "0x%x".formatted(limits.pageSizes()));
    map.put("max_qp", limits.maxQueuePairs());
    map.put("max_qp_wr", limits.maxRequests());
    map.put("device_cap_flags", "0x%08x".formatted(limits.capabilities()));
    map.put("max_sge", limits.maxScatter());
    map.put("max_sge_rd", limits.maxReadScatter());
    map.put("max_cq", limits.maxCompletionQueues());
    map.put("max_cqe", limits.maxCompletions());
    map.put("max_mr", limits.maxRegions());
    map.put("max_pd", limits.maxProtectionDomains());
    map.put("max_qp_rd_atom", limits.maxResponderReads());
    map.put("max_qp_init_rd_atom", limits.maxInitiatorReads());
    map.put("atomic_cap", limits.atomics().toString());
    map.put("max_pkeys", limits.maxPkeys());
    return map;
  }

  private static Map<String, Object> describe(PortAttributes port, List<GidEntry> gids) {
    Map<String, Object> map = new LinkedHashMap<>();
    map.put("port", port.number());
    map.put("state", port.state().toString());
    map.put("max_mtu", port.maxMtu().bytes());
    map.put("active_mtu", port.activeMtu().bytes());
    map.put("sm_lid", port.subnetManagerLid());
    map.put("port_lid", port.lid());
    map.put("port_lmc", port.lidMask());
    map.put("link_layer", port.linkLayer().toString());
    map.put("max_msg_sz", port.maxMessageBytes());
    map.put("gid_tbl_len", port.gidTableLength());
    map.put("pkey_tbl_len", port.pkeyTableLength());
    map.put("active_width", port.activeWidth());
    map.put("active_speed", port.activeSpeed());
    map.put("phys_state", port.physicalState());
    Map<String, Object> table = new LinkedHashMap<>();
    for (GidEntry entry : gids) {
      if (entry.port() == port.number()) {
        table.put(String.valueOf(entry.index()), entry.gid() + ", " + entry.type());
      }
    }
    map.put("gids", table);
    return map;
  }

  private static String guid(long guid) {
    return "%04x:%04x:%04x:%04x"
        .formatted(guid >>> 48, guid >>> 32 & 0xffff, guid >>> 16 & 0xffff, guid & 0xffff);
  }

  private static final List<String> BRIEF_PORT =
      List.of(
          "port", "state", "max_mtu", "active_mtu", "sm_lid", "port_lid", "port_lmc", "link_layer");

  private void print(Map<String, Object> device) {
    device.forEach(
        (name, value) -> {
          switch (name) {
            case "hca_id" -> System.out.println("hca_id: " + value);
            case "limits" -> {
              if (verbose) {
                entries(value).forEach((limit, most) -> line(1, limit, most));
              }
            }
            case "ports" -> ((List<?>) value).forEach(port -> printPort(entries(port)));
            default -> line(1, name, value);
          }
        });
  }

  private void printPort(Map<?, ?> port) {
    port.forEach(
        (name, value) -> {
          if (name.equals("gids")) {
            if (verbose) {
              entries(value).forEach((index, gid) -> line(3, "GID[" + index + "]", gid));
            }
          } else if (verbose || BRIEF_PORT.contains(name)) {
            line(name.equals("port") ? 2 : 3, name, value);
          }
        });
  }

  private static Map<?, ?> entries(Object map) {
    return (Map<?, ?>) map;
  }

  private static void line(int depth, Object name, Object value) {
    System.out.printf("%s%-24s%s%n", "\t".repeat(depth), name + ":", value);
  }
}
