package org.verbena.verbs;

import java.net.NetworkInterface;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Chooses device, port and GID by what they are, never by their place in a table.
 *
 * <p>A port must be active. On Ethernet the GID must be RoCE v2 and its address one of this network
 * namespace: several containers may see each other's devices, but only its own sends from here.
 * Among those an IPv4 address is preferred to a global IPv6 one, and that to a link-local one; of
 * equals the first is taken. An InfiniBand port needs no GID, it has a LID.
 *
 * @param device only this one, or any if empty
 * @param port only this one, from 1, or any if 0
 * @param gidIndex only the GID at this place, whatever it is, or any if -1
 */
public record PathSelector(String device, int port, int gidIndex) {
  /** Chooses among all. */
  public static final PathSelector ANY = new PathSelector("", 0, -1);

  /** A port and what is in its GID table. */
  record Candidate(String device, PortAttributes port, List<GidEntry> gids) {}

  /** A path, how good it is (lower is better), and why it can be used. */
  private record Usable(RdmaPath path, int rank, String reason) {}

  /** What was chosen and what was not, in words. */
  record Result(RdmaPath path, String reason, List<String> rejected) {}

  public PathSelector {
    Range.require("port", port, 0, 255);
    Range.require("GID index", gidIndex, -1, 255);
  }

  static List<Candidate> candidates(Collection<Context> contexts) {
    List<Candidate> candidates = new ArrayList<>();
    for (Context context : contexts) {
      List<GidEntry> gids = context.gids();
      for (PortAttributes port : context.ports()) {
        candidates.add(
            new Candidate(
                context.name(),
                port,
                gids.stream().filter(entry -> entry.port() == port.number()).toList()));
      }
    }
    return candidates;
  }

  /** The addresses of this network namespace. */
  static Set<Gid> localGids() {
    try {
      return NetworkInterface.networkInterfaces()
          .flatMap(NetworkInterface::inetAddresses)
          .map(Gid::of)
          .collect(Collectors.toCollection(HashSet::new));
    } catch (SocketException e) {
      throw new VerbsException(
          "getifaddrs", "this host", 0, "reading the addresses of this host: " + e.getMessage());
    }
  }

  /**
   * Chooses among {@code candidates}, where {@code local} are the addresses of this namespace.
   *
   * @param passedOver devices that could not be opened, in words; they go with the rejected
   * @throws VerbsException if none can be used, naming each with the reason
   */
  Result choose(List<Candidate> candidates, Set<Gid> local, List<String> passedOver) {
    List<String> rejected = new ArrayList<>(passedOver);
    List<Usable> usable = new ArrayList<>();
    for (Candidate candidate : candidates) {
      String where = candidate.device + " port " + candidate.port.number();
      if (!device.isEmpty() && !device.equals(candidate.device)) {
        rejected.add(candidate.device + ": another device was asked for");
      } else if (port != 0 && port != candidate.port.number()) {
        rejected.add(where + ": another port was asked for");
      } else if (candidate.port.state() != PortState.ACTIVE) {
        rejected.add(where + ": is " + candidate.port.state());
      } else if (candidate.port.linkLayer() == LinkLayer.INFINIBAND) {
        usable.add(infiniband(candidate));
      } else {
        consider(candidate, local, usable, rejected);
      }
    }
    Usable best = null;
    for (Usable each : usable) {
      if (best == null || each.rank < best.rank) {
        best = each;
      }
    }
    if (best == null) {
      throw new VerbsException(
          "choosing a path", device.isEmpty() ? "any device" : device, 0, describe(rejected));
    }
    for (Usable each : usable) {
      if (!each.equals(best)) {
        rejected.add(each.path + ": usable (" + each.reason + "), but not the best");
      }
    }
    return new Result(best.path, best.reason, List.copyOf(rejected));
  }

  private static String describe(List<String> rejected) {
    return rejected.isEmpty()
        ? "there is no device"
        : "nothing can be used:\n  " + String.join("\n  ", rejected);
  }

  private Usable infiniband(Candidate candidate) {
    int wanted = Math.max(gidIndex, 0);
    Gid gid =
        candidate.gids.stream()
            .filter(entry -> entry.index() == wanted)
            .map(GidEntry::gid)
            .findFirst()
            .orElse(new Gid(0, 0));
    return new Usable(
        new RdmaPath(candidate.device, candidate.port, wanted, gid, GidType.INFINIBAND),
        0,
        "active InfiniBand port");
  }

  private void consider(
      Candidate candidate, Set<Gid> local, List<Usable> usable, List<String> rejected) {
    int before = usable.size() + rejected.size();
    for (GidEntry entry : candidate.gids) {
      if (gidIndex >= 0 && gidIndex != entry.index()) {
        continue;
      }
      RdmaPath path =
          new RdmaPath(candidate.device, candidate.port, entry.index(), entry.gid(), entry.type());
      if (gidIndex >= 0) {
        usable.add(new Usable(path, 0, "asked for"));
      } else if (entry.type() != GidType.ROCE_V2) {
        rejected.add(path + ": not RoCE v2");
      } else if (!local.contains(entry.gid())) {
        rejected.add(path + ": not an address of this network namespace");
      } else {
        usable.add(rate(path));
      }
    }
    if (usable.size() + rejected.size() == before) {
      rejected.add(
          "%s port %d: has no GID%s"
              .formatted(
                  candidate.device,
                  candidate.port.number(),
                  gidIndex >= 0 ? " at index " + gidIndex : ""));
    }
  }

  private static Usable rate(RdmaPath path) {
    if (path.gid().isLinkLocal()) {
      return new Usable(path, 2, "link-local, reaches its own network only");
    }
    return path.gid().isIpv4()
        ? new Usable(path, 0, "active port, RoCE v2, IPv4 address of this namespace")
        : new Usable(path, 1, "active port, RoCE v2, global IPv6 address of this namespace");
  }
}
