package org.verbena.transport.rdma;

import java.lang.foreign.ValueLayout;
import java.util.Locale;
import org.verbena.transport.Traffic.Operation;
import org.verbena.verbs.MemoryRegion;
import org.verbena.verbs.QueuePair;
import org.verbena.verbs.RemoteRegion;
import org.verbena.verbs.SendRequests;
import org.verbena.verbs.VerbsException;

/**
 * One queue pair to a peer, and the requests for it that are not posted yet. Requests are posted
 * together: data as soon as there is much of it and no more can join it, else with the signal that
 * follows. Writes that follow each other in the peer's window become one, gathered from its pieces.
 *
 * <p>Requests are numbered from 0. Only some are signaled: the last of a group, and enough of the
 * others that a full queue always holds one that will complete.
 */
final class Lane {
  /** Slots that data leaves free for what a rank says of itself. */
  static final int RESERVED = 4;

  /** Requests that are posted with one call at most. */
  private static final int MOST_CHAINED = 16;

  /** Data of this size does not wait for the signal. */
  private static final long EARLY_BYTES = 16 << 10;

  /** The offset of what is not in the window. */
  private static final long ELSEWHERE = -1;

  private static final int SOURCE_BYTES = ControlBlock.MAIL_BYTES;

  private final Link link;
  private final int index;
  private final QueuePair pair;
  private final int slots;
  private final int mostUnsignaled;
  private final int capacity;
  private final int mostPieces;
  private final long mostBytes;
  private final SendRequests chain;
  private final SendRequests urgent;
  private final Posted counters;

  /** Where signals leave from: a place for each request that may be under way. */
  private final MemoryRegion sources;

  private final long firstSource;
  private final int mask;

  // What was asked, by number and mask.
  private final Operation[] operations;
  private final long[] offsets;
  private final long[] lengths;

  private long posted;
  private long signaled;
  private long pendingBytes;

  /** Where a write would join the last one, which has so many pieces already. */
  private long joint = ELSEWHERE;

  private int pieces;

  /**
   * @param mostPieces of memory that a request gathers
   * @param mostBytes of a message
   */
  Lane(
      Link link,
      int index,
      QueuePair pair,
      int queueDepth,
      int mostPieces,
      long mostBytes,
      MemoryRegion sources,
      long firstSource,
      Posted counters) {
    this.link = link;
    this.index = index;
    this.pair = pair;
    this.slots = queueDepth + RESERVED;
    this.mostUnsignaled = queueDepth / 2;
    this.sources = sources;
    this.firstSource = firstSource;
    this.counters = counters;
    capacity = Math.min(MOST_CHAINED, mostUnsignaled);
    this.mostPieces = mostPieces;
    this.mostBytes = mostBytes;
    chain = pair.sendRequests(capacity, mostPieces);
    urgent = pair.sendRequests(1, 1);
    int places = places(queueDepth);
    mask = places - 1;
    operations = new Operation[places];
    offsets = new long[places];
    lengths = new long[places];
  }

  /** A power of 2 that all requests under way and those to come fit in. */
  private static int places(int queueDepth) {
    return Integer.highestOneBit(queueDepth + RESERVED + MOST_CHAINED) * 2;
  }

  /** Bytes of the sources of a lane. */
  static long sourceBytes(int queueDepth) {
    return (long) places(queueDepth) * SOURCE_BYTES;
  }

  Link link() {
    return link;
  }

  /** Its place among all lanes of the transport; those of a link follow each other. */
  int index() {
    return index;
  }

  QueuePair pair() {
    return pair;
  }

  /** The requests that were handed over so far, posted or not. */
  long next() {
    return posted + chain.size();
  }

  private long completed() {
    return posted - slots + pair.freeSends();
  }

  /** Whether so many requests have completed; makes sure that they will, where there are slots. */
  boolean hasCompleted(long requests) {
    if (completed() >= requests) {
      return true;
    }
    if (requests > posted) {
      if (pair.freeSends() - RESERVED >= chain.size()) {
        post(true);
      }
    } else if (requests > signaled) {
      link.probe(this);
    }
    return false;
  }

  /** Whether a request is under way whose end will be told. */
  boolean awaitsCompletion() {
    return signaled > completed();
  }

  void write(RemoteRegion to, long offset, MemoryRegion from, long localOffset, long bytes) {
    if (offset == joint && pieces < mostPieces && joins(bytes)) {
      chain.from(from, localOffset, bytes);
      pieces++;
    } else {
      if (pendingBytes >= EARLY_BYTES) {
        post(false);
      }
      begin(Operation.WRITE, offset, bytes);
      chain.write(to, offset).from(from, localOffset, bytes);
      end();
      pieces = 1;
    }
    joint = offset + bytes;
    pendingBytes += bytes;
  }

  /** Whether the last request is not too long for more bytes; they then count as its own. */
  private boolean joins(long bytes) {
    int place = (int) (next() - 1) & mask;
    if (lengths[place] + bytes > mostBytes) {
      return false;
    }
    lengths[place] += bytes;
    if (link.isRemote()) {
      counters.payload(bytes);
    }
    return true;
  }

  void read(RemoteRegion from, long offset, MemoryRegion into, long localOffset, long bytes) {
    begin(Operation.READ, offset, bytes);
    chain.read(from, offset).into(into, localOffset, bytes);
    end();
    post(true);
  }

  void fetchAndAdd(RemoteRegion at, long offset, long delta, MemoryRegion result, long resultAt) {
    begin(Operation.FETCH_AND_ADD, offset, Long.BYTES);
    chain.fetchAndAdd(at, offset, delta, result, resultAt);
    end();
    post(true);
  }

  void compareAndSwap(
      RemoteRegion at, long offset, long expected, long value, MemoryRegion result, long resultAt) {
    begin(Operation.COMPARE_AND_SWAP, offset, Long.BYTES);
    chain.compareAndSwap(at, offset, expected, value, result, resultAt);
    end();
    post(true);
  }

  /** Writes a word of 4 or 8 bytes, behind all before it. */
  void writeWord(RemoteRegion to, long offset, long value, int bytes) {
    begin(Operation.WRITE, offset, bytes);
    long source = source();
    sources.memory().set(ValueLayout.JAVA_LONG, source, value);
    chain.write(to, offset);
    from(chain, source, bytes);
    end();
    post(bytes == Long.BYTES);
  }

  /** Adds to a word; what it held before is of no interest. */
  void add(RemoteRegion at, long offset, long delta, boolean last) {
    begin(Operation.FETCH_AND_ADD, offset, Long.BYTES);
    chain.fetchAndAdd(at, offset, delta, sources, source());
    end();
    post(last);
  }

  /** Writes a word of 8 bytes as one, behind all before it. */
  void writeAtomically(RemoteRegion to, long offset, long value) {
    post(false);
    note(Operation.ATOMIC_WRITE, offset, Long.BYTES);
    count(Operation.ATOMIC_WRITE, Long.BYTES);
    link.awaitSlots(this, RESERVED + 1);
    try {
      if (!link.isGone() && !pair.postAtomicWrite(to, offset, value, id(next()))) {
        throw fewerSlots();
      }
    } catch (VerbsException e) {
      failed(e);
    }
    signaled = ++posted;
  }

  /** Writes a mail of two words that arrives with a number. */
  void writeMail(RemoteRegion to, long offset, long first, long second, int number) {
    begin(Operation.WRITE_WITH_IMMEDIATE, ELSEWHERE, ControlBlock.MAIL_BYTES);
    long source = source();
    sources.memory().set(ValueLayout.JAVA_LONG, source, first);
    sources.memory().set(ValueLayout.JAVA_LONG, source + Long.BYTES, second);
    chain.writeWithImmediate(to, offset, number);
    from(chain, source, ControlBlock.MAIL_BYTES);
    end();
    post(true);
  }

  /**
   * Writes a word with a reserved slot; not counted, as it is no part of a move.
   *
   * @return whether there was one
   */
  boolean writeUrgent(RemoteRegion to, long offset, long value) {
    if (chain.size() > 0 && pair.freeSends() - RESERVED >= chain.size()) {
      post(true);
    }
    if (chain.size() > 0 || pair.freeSends() == 0) {
      return false;
    }
    note(Operation.WRITE, ELSEWHERE, Long.BYTES);
    long source = source();
    sources.memory().set(ValueLayout.JAVA_LONG, source, value);
    urgent.clear().write(to, offset);
    from(urgent, source, Long.BYTES);
    urgent.id(id(next())).signaled();
    hand(urgent);
    signaled = posted;
    return true;
  }

  private void from(SendRequests requests, long source, int bytes) {
    requests.from(sources, source, bytes);
    if (bytes <= pair.inlineBytes()) {
      requests.inline();
    }
  }

  /** Where the request that is about to be chained may leave from. */
  private long source() {
    return firstSource + ((int) next() & mask) * (long) SOURCE_BYTES;
  }

  private void begin(Operation operation, long offset, long bytes) {
    if (chain.size() == capacity) {
      post(false);
    }
    joint = ELSEWHERE;
    note(operation, offset, bytes);
    count(operation, bytes);
  }

  private void note(Operation operation, long offset, long bytes) {
    int place = (int) next() & mask;
    operations[place] = operation;
    offsets[place] = offset;
    lengths[place] = bytes;
  }

  private void count(Operation operation, long bytes) {
    if (link.isRemote()) {
      counters.operation(operation, bytes);
    }
  }

  private void end() {
    chain.id(id(next() - 1));
  }

  private long id(long number) {
    return ((long) index << 32) | (number & 0xffff_ffffL);
  }

  /** The lane that a request of this id was handed to. */
  static int index(long id) {
    return (int) (id >>> 32);
  }

  /** What a request of this lane was to do, in words. */
  String describe(long id) {
    int place = (int) id & mask;
    String what =
        "%s of %d bytes"
            .formatted(
                operations[place].name().toLowerCase(Locale.ROOT).replace('_', ' '),
                lengths[place]);
    return offsets[place] == ELSEWHERE ? what : what + " at offset " + offsets[place];
  }

  /** Where in the peer's window it was to do that, if {@link #length} is not 0. */
  long offset(long id) {
    return offsets[(int) id & mask];
  }

  long length(long id) {
    int place = (int) id & mask;
    return offsets[place] == ELSEWHERE ? 0 : lengths[place];
  }

  /** Posts what is chained, if anything; waits for slots. */
  void post(boolean last) {
    int size = chain.size();
    if (size == 0) {
      return;
    }
    boolean signal = last || posted + size - signaled >= mostUnsignaled;
    if (signal) {
      chain.signaled();
    }
    if (pair.freeSends() - RESERVED < size) {
      link.awaitSlots(this, RESERVED + size);
    }
    hand(chain);
    chain.clear();
    joint = ELSEWHERE;
    pendingBytes = 0;
    if (signal) {
      signaled = posted;
    }
  }

  private void hand(SendRequests requests) {
    try {
      if (!link.isGone() && !pair.post(requests)) {
        throw fewerSlots();
      }
    } catch (VerbsException e) {
      failed(e);
    }
    posted += requests.size();
  }

  private IllegalStateException fewerSlots() {
    return new IllegalStateException("%s has fewer slots than it said".formatted(pair));
  }

  private void failed(VerbsException e) {
    link.fail(String.valueOf(e.getMessage()), 0, 0);
    link.requireSound();
  }
}
