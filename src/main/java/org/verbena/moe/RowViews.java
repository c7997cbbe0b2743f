package org.verbena.moe;

import java.lang.System.Logger;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.verbena.layout.BufferLayout;
import org.verbena.transport.Transport;

/**
 * The segments through which an engine sees a half's rows, and what it takes to take them back. Any
 * thread may ask for one.
 */
final class RowViews {
  private static final Logger LOG = System.getLogger(RowViews.class.getName());

  private final int ranks;
  private final MemorySegment[] received;
  private final MemorySegment[] outgoing;
  private final @Nullable MemorySegment[] receivedGuarded;
  private final @Nullable MemorySegment[] outgoingGuarded;
  private final ViewGuard[] guards;

  RowViews(Transport transport, BufferLayout layout, boolean guarded) {
    Module module = RowViews.class.getModule();
    boolean enabled = guarded && module.isNativeAccessEnabled();
    if (guarded && !enabled) {
      LOG.log(
          Logger.Level.INFO,
          "views of rows are not guarded: start Java with --enable-native-access={0}",
          module.isNamed() ? module.getName() : "ALL-UNNAMED");
    }
    int halves = layout.options().halves();
    ranks = layout.shape().ranks();
    received = new MemorySegment[halves];
    outgoing = new MemorySegment[halves * ranks];
    receivedGuarded = new MemorySegment[halves];
    outgoingGuarded = new MemorySegment[halves * ranks];
    guards = new ViewGuard[halves];
    long messages = (long) ranks * layout.shape().tokens() * layout.messageBytes();
    long rows = layout.shape().tokens() * layout.rowBytes();
    for (int half = 0; half < halves; half++) {
      guards[half] = new ViewGuard(enabled);
      received[half] =
          transport.window().asSlice(layout.dispatchReceive(half, 0, 0), messages).asReadOnly();
      for (int peer = 0; peer < ranks; peer++) {
        long at =
            transport.isDirect(peer)
                ? layout.combineReceive(half, transport.rank(), 0)
                : layout.combineSend(half, peer, 0);
        outgoing[half * ranks + peer] = transport.stage(peer).asSlice(at, rows);
      }
    }
  }

  MemorySegment received(int half) {
    return received[half];
  }

  synchronized MemorySegment receivedGuarded(int half) {
    MemorySegment view = receivedGuarded[half];
    if (view == null) {
      view = guards[half].guard(received[half]);
      receivedGuarded[half] = view;
    }
    return view;
  }

  synchronized MemorySegment outgoingGuarded(int half, int peer) {
    int at = half * ranks + peer;
    MemorySegment view = outgoingGuarded[at];
    if (view == null) {
      view = guards[half].guard(outgoing[at]);
      outgoingGuarded[at] = view;
    }
    return view;
  }

  /** Takes back what was handed out of a half. */
  synchronized void revoke(int half) {
    if (guards[half].revoke()) {
      receivedGuarded[half] = null;
      for (int peer = 0; peer < ranks; peer++) {
        outgoingGuarded[half * ranks + peer] = null;
      }
    }
  }
}
