package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.verbena.ffi.ibv_recv_wr;
import org.verbena.ffi.ibv_sge;

/**
 * A chain of work requests in one slab: a word where a device puts the address of a request that it
 * refuses, then the requests, each with the name that the user gave it before and extra bytes
 * behind it, then their scatter lists. {@code struct ibv_send_wr} begins as {@code struct
 * ibv_recv_wr} does. The slab outlives its queue pair, as a device copies requests when they are
 * posted and keeps no pointer to them.
 */
abstract sealed class Requests permits SendRequests, ReceiveRequests {
  private static final long ID = ibv_recv_wr.wr_id$offset();
  private static final long NEXT = ibv_recv_wr.next$offset();
  private static final long SCATTER_LIST = ibv_recv_wr.sg_list$offset();
  private static final long SCATTER_COUNT = ibv_recv_wr.num_sge$offset();
  private static final long NAME = -Long.BYTES;

  /** Where the first request begins. */
  private static final long FIRST = Long.BYTES - NAME;

  private static final long ENTRY_BYTES = ibv_sge.sizeof();
  private static final long ENTRY_ADDRESS = ibv_sge.addr$offset();
  private static final long ENTRY_LENGTH = ibv_sge.length$offset();
  private static final long ENTRY_KEY = ibv_sge.lkey$offset();

  private final Postable owner;
  private final int capacity;
  private final int scatter;
  private final long stride;
  private final long listsOffset;
  private final MemorySegment slab;

  /** Where the slab begins. */
  private final long base;

  private int size;
  private int entries;
  private long length;

  /**
   * @param bytes of a request
   * @param extra bytes behind each request that the subclass uses
   */
  Requests(
      Postable owner,
      int capacity,
      int depth,
      int scatter,
      int mostScatter,
      long bytes,
      long extra) {
    Range.require("requests of a chain", capacity, 1, depth);
    Range.require("scatter entries of a request", scatter, 0, mostScatter);
    this.owner = owner;
    this.capacity = capacity;
    this.scatter = scatter;
    this.stride = -NAME + bytes + extra;
    this.listsOffset = Long.BYTES + capacity * stride;
    this.slab =
        Arena.ofAuto().allocate(listsOffset + (long) capacity * scatter * ENTRY_BYTES, Long.BYTES);
    this.base = slab.address();
    for (int i = 0; i < capacity; i++) {
      slab.set(
          ValueLayout.JAVA_LONG,
          offset(i) + SCATTER_LIST,
          base + listsOffset + (long) i * scatter * ENTRY_BYTES);
    }
  }

  /** Refuses an empty chain, and one that was made for another. */
  final void requirePostableTo(Postable target) {
    if (owner != target || size == 0) {
      throw new IllegalArgumentException(
          size == 0
              ? "the chain is empty"
              : "the chain was made for " + owner + ", not for " + target);
    }
  }

  final MemorySegment slab() {
    return slab;
  }

  /** Where the chain begins, as a device is told. */
  final long address() {
    return base + FIRST;
  }

  /** Requests in the chain. */
  public final int size() {
    return size;
  }

  final void reset() {
    size = 0;
  }

  /** Where request {@code index} begins in the slab. */
  final long offset(int index) {
    return FIRST + index * stride;
  }

  final long last() {
    if (size == 0) {
      throw new IllegalStateException("the chain has no request yet");
    }
    return offset(size - 1);
  }

  final int lastIndex() {
    return size - 1;
  }

  final long length() {
    return length;
  }

  /** Adds an empty request; returns where it begins in the slab. */
  final long begin() {
    if (size == capacity) {
      throw new IllegalStateException("the chain is full with " + capacity + " requests");
    }
    long at = offset(size);
    if (size > 0) {
      slab.set(ValueLayout.JAVA_LONG, at - stride + NEXT, base + at);
    }
    slab.set(ValueLayout.JAVA_LONG, at + NEXT, 0L);
    slab.set(ValueLayout.JAVA_INT, at + SCATTER_COUNT, 0);
    slab.set(ValueLayout.JAVA_LONG, at + NAME, 0L);
    entries = 0;
    length = 0;
    size++;
    return at;
  }

  final void setName(long name) {
    slab.set(ValueLayout.JAVA_LONG, last() + NAME, name);
  }

  /** Adds a piece of local memory to the last request. */
  final void addEntry(MemoryRegion region, long offset, long bytes) {
    long request = last();
    if (region.domain() != owner.domain()) {
      throw new IllegalArgumentException(
          region + " belongs to another protection domain than " + owner);
    }
    long address = region.addressOf(offset, bytes);
    addEntry(request, address, bytes, region.localKey().value());
  }

  final void addEntry(long request, long address, long bytes, int key) {
    if (entries == scatter) {
      throw new IllegalStateException("a request of this chain has at most " + scatter + " pieces");
    }
    long total = length + bytes;
    if (total > owner.mostMessageBytes()) {
      throw new IllegalArgumentException(
          "a message of %d bytes; the port takes at most %d"
              .formatted(total, owner.mostMessageBytes()));
    }
    long entry = listsOffset + ((size - 1L) * scatter + entries) * ENTRY_BYTES;
    slab.set(ValueLayout.JAVA_LONG, entry + ENTRY_ADDRESS, address);
    slab.set(ValueLayout.JAVA_INT, entry + ENTRY_LENGTH, (int) bytes);
    slab.set(ValueLayout.JAVA_INT, entry + ENTRY_KEY, key);
    entries++;
    length = total;
    slab.set(ValueLayout.JAVA_INT, request + SCATTER_COUNT, entries);
  }

  /** Gives the requests the ids that {@code queue} has for them; returns the id after them. */
  final long number(WorkQueue queue) {
    long id = queue.posted();
    long at = base;
    int left = size;
    do {
      long from = Memory.bounded(at);
      queue.name(id, Memory.getLong(from + FIRST + NAME));
      Memory.setLong(from + FIRST + ID, id);
      id = RequestId.next(id);
      at += stride;
    } while (--left > 0);
    return id;
  }

  /** Gives request {@code index} the whole id that it is known by. */
  final void number(int index, long id) {
    slab.set(ValueLayout.JAVA_LONG, offset(index) + ID, id);
  }

  /** What the user calls request {@code index}. */
  final long nameOf(int index) {
    return slab.get(ValueLayout.JAVA_LONG, offset(index) + NAME);
  }

  final void hideLast() {
    long at = last() + ID;
    slab.set(ValueLayout.JAVA_LONG, at, RequestId.hidden(slab.get(ValueLayout.JAVA_LONG, at)));
  }

  /** The place for the refused request. */
  final long refused() {
    return base;
  }

  /** How many requests a device took that has refused one. */
  final int accepted() {
    long at = slab.get(ValueLayout.JAVA_LONG, 0) - base;
    slab.set(ValueLayout.JAVA_LONG, 0, 0L);
    return at >= 0 && at < listsOffset ? (int) ((at - FIRST) / stride) : 0;
  }
}
