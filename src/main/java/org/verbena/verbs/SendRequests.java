package org.verbena.verbs;

import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.verbena.ffi.IbverbsTypes;
import org.verbena.ffi.ibv_send_wr;

/**
 * A chain of send requests for one queue pair, posted by one call: {@code clear().write(peer, 0)
 * .from(rows, 0, n).write(peer, signal).fromLong(epoch).signaled()}. It may be posted as often as
 * wanted without being built anew. For one thread at a time. Made by {@link
 * QueuePair#sendRequests}; building allocates nothing.
 *
 * <p>Methods that begin a request are followed by those that complete it. Local and remote bounds
 * and access are checked when a piece is added.
 */
public final class SendRequests extends Requests {
  private static final long OPCODE = ibv_send_wr.opcode$offset();
  private static final long FLAGS = ibv_send_wr.send_flags$offset();
  private static final long IMMEDIATE = ibv_send_wr.imm_data$offset();
  private static final long RDMA = ibv_send_wr.wr$offset() + ibv_send_wr.wr.rdma$offset();
  private static final long RDMA_ADDRESS = RDMA + ibv_send_wr.wr.rdma.remote_addr$offset();
  private static final long RDMA_KEY = RDMA + ibv_send_wr.wr.rdma.rkey$offset();
  private static final long ATOMIC = ibv_send_wr.wr$offset() + ibv_send_wr.wr.atomic$offset();
  private static final long ATOMIC_ADDRESS = ATOMIC + ibv_send_wr.wr.atomic.remote_addr$offset();
  private static final long ATOMIC_OPERAND = ATOMIC + ibv_send_wr.wr.atomic.compare_add$offset();
  private static final long ATOMIC_SWAP = ATOMIC + ibv_send_wr.wr.atomic.swap$offset();
  private static final long VALUE = ibv_send_wr.sizeof();
  private static final long ATOMIC_KEY = ATOMIC + ibv_send_wr.wr.atomic.rkey$offset();

  private static final long DATAGRAM = ibv_send_wr.wr$offset() + ibv_send_wr.wr.ud$offset();
  private static final long DATAGRAM_ADDRESS = DATAGRAM + ibv_send_wr.wr.ud.ah$offset();
  private static final long DATAGRAM_PAIR = DATAGRAM + ibv_send_wr.wr.ud.remote_qpn$offset();
  private static final long DATAGRAM_KEY = DATAGRAM + ibv_send_wr.wr.ud.remote_qkey$offset();

  private static final int WRITE = IbverbsTypes.IBV_WR_RDMA_WRITE();
  private static final int WRITE_WITH_IMMEDIATE = IbverbsTypes.IBV_WR_RDMA_WRITE_WITH_IMM();
  private static final int SEND = IbverbsTypes.IBV_WR_SEND();
  private static final int SEND_WITH_IMMEDIATE = IbverbsTypes.IBV_WR_SEND_WITH_IMM();
  private static final int READ = IbverbsTypes.IBV_WR_RDMA_READ();
  private static final int COMPARE_AND_SWAP = IbverbsTypes.IBV_WR_ATOMIC_CMP_AND_SWP();
  private static final int FETCH_AND_ADD = IbverbsTypes.IBV_WR_ATOMIC_FETCH_AND_ADD();

  private static final int FENCE = IbverbsTypes.IBV_SEND_FENCE();
  private static final int SIGNALED = IbverbsTypes.IBV_SEND_SIGNALED();
  private static final int SOLICITED = IbverbsTypes.IBV_SEND_SOLICITED();
  private static final int INLINE = IbverbsTypes.IBV_SEND_INLINE();

  private static final ValueLayout.OfInt NETWORK_INT =
      ValueLayout.JAVA_INT.withOrder(ByteOrder.BIG_ENDIAN);

  private final QueuePair queuePair;
  private final boolean datagrams;
  private long remoteBytes;
  private boolean writesLocally;
  private boolean complete;
  private boolean reads;
  private @Nullable QueuePair plainFor;
  private int lastSignaled;

  SendRequests(QueuePair queuePair, int capacity, int scatter) {
    super(
        queuePair,
        capacity,
        queuePair.sendDepth(),
        scatter,
        queuePair.sendScatter(),
        ibv_send_wr.sizeof(),
        Long.BYTES);
    this.queuePair = queuePair;
    this.datagrams = queuePair.isDatagram();
    clear();
  }

  /** Empties the chain. */
  public SendRequests clear() {
    reset();
    reads = false;
    plainFor = null;
    lastSignaled = -1;
    return this;
  }

  /** Begins a write to {@code to}, {@code offset} bytes in. */
  public SendRequests write(RemoteRegion to, long offset) {
    return begin(WRITE, to, offset, false);
  }

  /**
   * Begins a write that also takes a receive of the peer, which completes with {@code value}.
   *
   * @param value reaches the peer as the same int, whatever the byte orders
   */
  public SendRequests writeWithImmediate(RemoteRegion to, long offset, int value) {
    begin(WRITE_WITH_IMMEDIATE, to, offset, false);
    slab().set(NETWORK_INT, last() + IMMEDIATE, value);
    return this;
  }

  /**
   * Begins a read of {@code from}, {@code offset} bytes in, into what is added by {@link #into}.
   */
  public SendRequests read(RemoteRegion from, long offset) {
    reads = true;
    return begin(READ, from, offset, true);
  }

  /** Begins a message to a receive of the peer. */
  public SendRequests send() {
    begin(SEND, Long.MAX_VALUE, false);
    return this;
  }

  /** Begins a message that brings {@code value} beside its payload. */
  public SendRequests sendWithImmediate(int value) {
    long at = begin(SEND_WITH_IMMEDIATE, Long.MAX_VALUE, false);
    slab().set(NETWORK_INT, at + IMMEDIATE, value);
    return this;
  }

  /**
   * Begins a datagram to queue pair {@code number} behind {@code to}, of at most the port's MTU.
   *
   * @param qkey the key of that queue pair; one with the highest bit set stands for the sender's
   *     own
   */
  public SendRequests sendTo(AddressHandle to, int number, int qkey) {
    beginTo(SEND, to, number, qkey);
    return this;
  }

  /** Begins a datagram that brings {@code value} beside its payload. */
  public SendRequests sendToWithImmediate(AddressHandle to, int number, int qkey, int value) {
    long at = beginTo(SEND_WITH_IMMEDIATE, to, number, qkey);
    slab().set(NETWORK_INT, at + IMMEDIATE, value);
    return this;
  }

  private long beginTo(int opcode, AddressHandle to, int number, int qkey) {
    Range.require("queue pair number", number, 0, 0xff_ffff);
    if (!datagrams || to.domain() != queuePair.domain()) {
      throw new IllegalArgumentException(
          datagrams
              ? to + " belongs to another protection domain than " + queuePair
              : queuePair + " is connected and sends to its peer alone");
    }
    to.requireOpen();
    long at = open(opcode, queuePair.path().port().activeMtu().bytes(), false);
    slab().set(ValueLayout.JAVA_LONG, at + DATAGRAM_ADDRESS, to.handle().address());
    slab().set(ValueLayout.JAVA_INT, at + DATAGRAM_PAIR, number);
    slab().set(ValueLayout.JAVA_INT, at + DATAGRAM_KEY, qkey);
    return at;
  }

  /**
   * Sets the aligned long at {@code offset} of {@code at} to {@code desired} if it is {@code
   * expected}, as one step; what it was comes to {@code resultOffset} of {@code result}.
   */
  public SendRequests compareAndSwap(
      RemoteRegion at,
      long offset,
      long expected,
      long desired,
      MemoryRegion result,
      long resultOffset) {
    long request = atomic(COMPARE_AND_SWAP, at, offset, result, resultOffset);
    slab().set(ValueLayout.JAVA_LONG, request + ATOMIC_OPERAND, expected);
    slab().set(ValueLayout.JAVA_LONG, request + ATOMIC_SWAP, desired);
    return this;
  }

  /**
   * Adds {@code addend} to the aligned long at {@code offset} of {@code at}, as one step; what it
   * was comes to {@code resultOffset} of {@code result}.
   */
  public SendRequests fetchAndAdd(
      RemoteRegion at, long offset, long addend, MemoryRegion result, long resultOffset) {
    long request = atomic(FETCH_AND_ADD, at, offset, result, resultOffset);
    slab().set(ValueLayout.JAVA_LONG, request + ATOMIC_OPERAND, addend);
    return this;
  }

  private long atomic(
      int opcode, RemoteRegion at, long offset, MemoryRegion result, long resultOffset) {
    Objects.checkFromIndexSize(offset, Long.BYTES, at.length());
    requireAligned("remote", at.address() + offset);
    requireAligned("result", result.addressOf(resultOffset, Long.BYTES));
    result.require(Access.LOCAL_WRITE);
    long request = begin(opcode, Long.BYTES, true);
    reads = true;
    slab().set(ValueLayout.JAVA_LONG, request + ATOMIC_ADDRESS, at.address() + offset);
    slab().set(ValueLayout.JAVA_INT, request + ATOMIC_KEY, at.key().value());
    addEntry(result, resultOffset, Long.BYTES);
    complete = true;
    return request;
  }

  static void requireAligned(String what, long address) {
    if ((address & 7) != 0) {
      throw new IllegalArgumentException(
          "an atomic needs a %s address that 8 divides, not 0x%x".formatted(what, address));
    }
  }

  private SendRequests begin(int opcode, RemoteRegion remote, long offset, boolean reading) {
    long left = remote.length() - Objects.checkFromIndexSize(offset, 0, remote.length());
    long request = begin(opcode, left, reading);
    slab().set(ValueLayout.JAVA_LONG, request + RDMA_ADDRESS, remote.address() + offset);
    slab().set(ValueLayout.JAVA_INT, request + RDMA_KEY, remote.key().value());
    return this;
  }

  private long begin(int opcode, long mostBytes, boolean reading) {
    if (datagrams) {
      throw new IllegalStateException(queuePair + " sends datagrams only, see sendTo");
    }
    return open(opcode, mostBytes, reading);
  }

  private long open(int opcode, long mostBytes, boolean reading) {
    long request = begin();
    slab().set(ValueLayout.JAVA_INT, request + OPCODE, opcode);
    slab().set(ValueLayout.JAVA_INT, request + FLAGS, 0);
    remoteBytes = mostBytes;
    writesLocally = reading;
    complete = false;
    plainFor = null;
    return request;
  }

  /** Adds what the last request sends. It may be changed once the request has completed. */
  public SendRequests from(MemoryRegion region, long offset, long bytes) {
    add(region, offset, bytes, false);
    return this;
  }

  /** Adds where the last read goes: memory that allows {@link Access#LOCAL_WRITE}. */
  public SendRequests into(MemoryRegion region, long offset, long bytes) {
    region.require(Access.LOCAL_WRITE);
    add(region, offset, bytes, true);
    return this;
  }

  private void add(MemoryRegion region, long offset, long bytes, boolean reading) {
    requireOpenFor(bytes, reading);
    addEntry(region, offset, bytes);
    requireInlineFits();
  }

  private void requireOpenFor(long bytes, boolean reading) {
    last();
    if (complete || writesLocally != reading) {
      throw new IllegalStateException(
          complete
              ? "the last request takes no more memory"
              : "reads go into memory, all other requests come from it");
    }
    if (bytes < 0 || bytes > remoteBytes - length()) {
      throw new IndexOutOfBoundsException(
          "%d bytes after %d go beyond the remote region or datagram, which has %d from here"
              .formatted(bytes, length(), remoteBytes));
    }
  }

  /** Lets the last request send {@code value}, eight bytes in native order, inline. */
  public SendRequests fromLong(long value) {
    requireOpenFor(Long.BYTES, false);
    long at = last() + VALUE;
    slab().set(ValueLayout.JAVA_LONG, at, value);
    addEntry(last(), slab().address() + at, Long.BYTES, 0);
    return inline();
  }

  /** Sets what the {@link #fromLong} of request {@code index} sends, in a chain already built. */
  public void setLong(int index, long value) {
    slab().set(ValueLayout.JAVA_LONG, offset(Objects.checkIndex(index, size())) + VALUE, value);
  }

  private int flags(long request) {
    return slab().get(ValueLayout.JAVA_INT, request + FLAGS);
  }

  private SendRequests flag(int flag) {
    long request = last();
    slab().set(ValueLayout.JAVA_INT, request + FLAGS, flags(request) | flag);
    return this;
  }

  /**
   * Copies the payload of the last request when it is posted: its memory is free at once, and need
   * not be registered. At most {@link QueuePair#inlineBytes()}.
   */
  public SendRequests inline() {
    if (writesLocally) {
      throw new IllegalStateException("reads and atomics cannot be inline");
    }
    flag(INLINE);
    requireInlineFits();
    return this;
  }

  private void requireInlineFits() {
    if ((flags(last()) & INLINE) != 0 && length() > queuePair.inlineBytes()) {
      throw new IllegalArgumentException(
          "%d bytes inline; the queue pair takes at most %d"
              .formatted(length(), queuePair.inlineBytes()));
    }
  }

  /** Lets the last request complete visibly; requests are unsignaled otherwise. */
  public SendRequests signaled() {
    flag(SIGNALED);
    lastSignaled = lastIndex();
    plainFor = reads || !queuePair.callsConstants() ? null : queuePair;
    return this;
  }

  /** What the last request completes with, also when it is unsignaled and fails; 0 unless set. */
  public SendRequests id(long id) {
    setName(id);
    return this;
  }

  /** Lets the last request begin only when all reads and atomics before it have ended. */
  public SendRequests fence() {
    return flag(FENCE);
  }

  /** Wakes a peer that sleeps until a solicited message comes. */
  public SendRequests solicited() {
    return flag(SOLICITED);
  }

  /**
   * Whether it was made for {@code target}, which {@link QueuePair#callsConstants}, ends signaled,
   * and has neither reads nor atomics: as most do. Nothing else is to be checked of it then.
   */
  boolean isPlainFor(QueuePair target) {
    return plainFor == target;
  }

  boolean hasReads() {
    return reads;
  }

  /** How many requests follow the last signaled one. */
  int unsignaledTail() {
    return size() - 1 - lastSignaled;
  }

  /** Signals the last request for this post only; nothing but that flag is touched. */
  void forceSignal() {
    flag(SIGNALED);
    hideLast();
  }

  void undoForcedSignal() {
    long request = last();
    slab().set(ValueLayout.JAVA_INT, request + FLAGS, flags(request) & ~SIGNALED);
  }
}
