package org.verbena.collective;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import org.verbena.layout.ChunkLayout;
import org.verbena.transport.PeerException;
import org.verbena.transport.Transport;
import org.verbena.transport.Wait;

/**
 * Parameters of one rank into others: larger than any buffer, cut in chunks, passed on from rank to
 * rank along a {@link Route}, so that many chunks are under way at once and no rank sends to all.
 *
 * <p>Each receiver checks the CRC32C of each chunk before it passes it on or keeps it, and has a
 * damaged one sent again, up to {@value #MOST_ATTEMPTS} times. A rank requests a chunk only when it
 * has room for it, so nothing is overwritten, and a rank that comes late is waited for.
 *
 * <p>In the end the source makes sure that what it read had not changed meanwhile; the targets see
 * to it that what they wrote lasts; and only when all have said so do they commit. If anything goes
 * wrong before, on whichever rank, all ranks throw: {@link SyncException} where one has given up,
 * {@link org.verbena.transport.PeerException} where one is lost. Then no target keeps anything, and
 * the {@link Collective} can only be closed. A rank that is lost while others commit may leave some
 * with all the parameters, and the others with none.
 *
 * <p>All ranks of the route call at about the same time, the first {@link #send}, the others {@link
 * #receive}; other ranks need not. A rank that came too late pulls afterwards: on {@link
 * Route#pull} it reads from any rank that has the parameters.
 *
 * <p>The timeout counts from the last chunk that moved; at the end, when targets may have to wait
 * for their disks, it is longer by a second for each 16 MiB. An interrupt gives up.
 */
public final class ParameterSync {
  /** How often a chunk is sent before the sync is given up. */
  static final int MOST_ATTEMPTS = 5;

  private static final int MOST_REASON_BYTES = ChunkLayout.REASON_BYTES - Integer.BYTES;

  private final Port port;
  private final ChunkLayout layout;
  private final long[] syncs;

  ParameterSync(Port port, ChunkLayout layout) {
    this.port = port;
    this.layout = layout;
    syncs = new long[port.transport().size()];
  }

  /**
   * Sends to all ranks of a route, of which this one is the first; returns when all have committed.
   *
   * @throws SyncException if the sync was given up; no target keeps anything
   * @throws IllegalArgumentException if this rank is not the first of the route, or the route has a
   *     rank that the group has not; nothing was sent then
   */
  public SyncReport send(ParameterSource source, Route route, SyncProgress progress) {
    begin(route, true);
    try {
      Reading reading = new Reading(source, layout.shape().bytes(), progress);
      Relay relay = new Relay(port, layout, route, syncs);
      while (!relay.isDone()) {
        boolean taken = relay.canTake();
        if (taken) {
          relay.take(reading.fill(relay.chunk(), relay.number()));
        }
        checkAborts(route);
        relay.passOn(taken);
      }
      Wait patience = port.patience(reading.total());
      for (int rank : route.followers()) {
        await(route, patience, rank, SyncWord.COMPLETE);
      }
      for (int rank : route.followers()) {
        tell(rank, SyncWord.COMMIT);
      }
      for (int rank : route.followers()) {
        await(route, patience, rank, SyncWord.COMMITTED);
      }
      return new SyncReport(reading.total(), reading.checksum(), 0);
    } catch (IOException | RuntimeException | InternalError e) {
      throw givenUp(route, e);
    }
  }

  /**
   * Receives as a rank that follows in a route; returns when this rank has committed.
   *
   * @throws SyncException if the sync was given up; this target keeps nothing of it
   * @throws IllegalArgumentException if this rank does not follow in the route, or the route has a
   *     rank that the group has not; nothing was requested then
   */
  public SyncReport receive(ParameterTarget target, Route route, SyncProgress progress) {
    begin(route, false);
    Writing writing = new Writing(target, progress);
    try {
      Relay relay = new Relay(port, layout, route, syncs);
      while (!relay.isDone()) {
        boolean taken = relay.canTake();
        if (taken) {
          relay.take(writing.take(relay.chunk()));
        }
        checkAborts(route);
        relay.passOn(taken);
      }
      writing.finish();
      tell(route.source(), SyncWord.COMPLETE);
      await(route, port.patience(writing.total()), route.source(), SyncWord.COMMIT);
      writing.commit();
      tell(route.source(), SyncWord.COMMITTED);
      return new SyncReport(writing.total(), writing.checksum(), relay.repeated());
    } catch (IOException | RuntimeException | InternalError e) {
      writing.abort();
      throw givenUp(route, e);
    }
  }

  private void begin(Route route, boolean first) {
    port.check("parameter sync");
    for (int rank : route.ranks()) {
      if (rank < 0 || rank >= syncs.length) {
        throw refused(
            "the route has rank %d, the group has %d ranks".formatted(rank, syncs.length));
      }
    }
    int place = route.ranks().indexOf(port.rank());
    if (place < 0 || first != (place == 0)) {
      throw refused(
          "it %s, but is at place %d of the route".formatted(first ? "sends" : "receives", place));
    }
    for (int rank : route.ranks()) {
      syncs[rank]++;
    }
  }

  private IllegalArgumentException refused(String reason) {
    return new IllegalArgumentException(
        "rank %d: parameter sync: %s".formatted(port.rank(), reason));
  }

  private void tell(int rank, int state) {
    port.transport()
        .signalRelease(rank, layout.status(port.rank()), SyncWord.status(syncs[rank], state));
  }

  private void await(Route route, Wait wait, int rank, int state) {
    wait.start("end of parameter sync", syncs[rank]);
    while (!SyncWord.hasReached(status(rank), syncs[rank], state)) {
      checkAborts(route);
      port.pause(wait, rank);
    }
  }

  private long status(int rank) {
    return port.wordAcquire(layout.status(rank));
  }

  private void checkAborts(Route route) {
    for (int rank : route.ranks()) {
      if (rank != port.rank() && SyncWord.isAbort(status(rank), syncs[rank])) {
        throw new SyncException(
            rank,
            "rank %d: parameter sync was given up by rank %d: %s"
                .formatted(port.rank(), rank, reason(rank)),
            null);
      }
    }
  }

  private String reason(int rank) {
    MemorySegment window = port.transport().window();
    long at = layout.reason(rank);
    int bytes = Math.clamp(window.get(ValueLayout.JAVA_INT, at), 0, MOST_REASON_BYTES);
    byte[] text = window.asSlice(at + Integer.BYTES, bytes).toArray(ValueLayout.JAVA_BYTE);
    return new String(text, StandardCharsets.UTF_8);
  }

  /**
   * Ends the sync on all ranks, unless they know already. An {@link InternalError} is what Java
   * makes of an access to a part of a mapped file that is not there any more.
   */
  private RuntimeException givenUp(Route route, Throwable e) {
    if (e instanceof SyncException known) {
      return port.failed(known);
    }
    if (e instanceof PeerException || e instanceof CollectiveException) {
      return (RuntimeException) e;
    }
    String reason = e.getMessage() == null ? e.toString() : e.getMessage();
    if (e instanceof InternalError) {
      reason = "a mapped file was cut, or its disk failed: " + reason;
    }
    tellReason(route, reason);
    if (e instanceof RuntimeException known) {
      return port.failed(known);
    }
    return port.failed(
        new SyncException(
            port.rank(), "rank %d: parameter sync: %s".formatted(port.rank(), reason), e));
  }

  private void tellReason(Route route, String reason) {
    byte[] text = reason.getBytes(StandardCharsets.UTF_8);
    int bytes = Math.min(text.length, MOST_REASON_BYTES);
    Transport transport = port.transport();
    for (int rank : route.ranks()) {
      if (rank != port.rank()) {
        long to = layout.reason(port.rank());
        long from = transport.isDirect(rank) ? to : layout.ownReason();
        MemorySegment memory = transport.stage(rank);
        memory.set(ValueLayout.JAVA_INT, from, bytes);
        MemorySegment.copy(text, 0, memory, ValueLayout.JAVA_BYTE, from + Integer.BYTES, bytes);
        transport.write(rank, to, from, (long) Integer.BYTES + bytes);
        tell(rank, SyncWord.ABORT);
      }
    }
  }
}
