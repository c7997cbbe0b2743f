package org.verbena.transport.rdma;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.verbena.bootstrap.Group;
import org.verbena.transport.Transport;
import org.verbena.transport.TransportProvider;
import org.verbena.verbs.PathChoice;
import org.verbena.verbs.PathSelector;
import org.verbena.verbs.Verbs;

/** Opens transports between hosts with RDMA devices. */
public final class RdmaProvider implements TransportProvider {
  private final RdmaSettings settings;
  private final Function<PathSelector, PathChoice> device;

  /** Opens the device that the settings name, or the best. */
  public RdmaProvider(RdmaSettings settings) {
    this(settings, Verbs::open);
  }

  RdmaProvider(RdmaSettings settings, Function<PathSelector, PathChoice> device) {
    this.settings = settings;
    this.device = device;
  }

  @Override
  public String name() {
    return "rdma";
  }

  @Override
  public boolean isDirect() {
    return false;
  }

  @Override
  @SuppressWarnings("MustBeClosedChecker") // closed by the transport
  public Transport open(Group group, long windowBytes) {
    boolean[] linked = new boolean[group.size()];
    Arrays.fill(linked, true);
    linked[group.rank()] = settings.atomics();
    Arena arena = Arena.ofShared();
    try {
      MemorySegment window =
          settings.hugePages().isEmpty()
              ? RdmaTransport.allocate(arena, windowBytes)
              : HugePages.allocate(Path.of(settings.hugePages()), windowBytes, arena);
      return open(group, settings, device, window, arena::close, linked);
    } catch (RuntimeException | Error e) {
      arena.close();
      throw e;
    }
  }

  /** Opens a transport; collective. What it returns owns the window by {@code release}. */
  static RdmaTransport open(
      Group group,
      RdmaSettings settings,
      Function<PathSelector, PathChoice> device,
      MemorySegment window,
      Runnable release,
      boolean[] linked) {
    group.agree(settings.agreement());
    List<RdmaTransport> made = new ArrayList<>(1);
    boolean opened = false;
    try {
      List<byte[]> addresses =
          group.allGatherResults(
              "rdma address",
              () -> {
                made.add(new RdmaTransport(group, settings, device, window, release, linked));
                return made.getFirst().address();
              });
      group.allGatherResults("rdma connection", () -> made.getFirst().connect(addresses));
      opened = true;
      return made.getFirst();
    } finally {
      if (!opened) {
        made.forEach(RdmaTransport::discard);
      }
    }
  }
}
