package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.verbena.ffi.IbverbsTypes;
import org.verbena.ffi.ibv_wc;

/**
 * What a poll found: made once, filled by each {@link CompletionQueue#poll}. For the polling thread
 * only.
 */
public final class Completions {
  private static final long BYTES = ibv_wc.sizeof();
  private static final long ID = ibv_wc.wr_id$offset();
  private static final long STATUS = ibv_wc.status$offset();
  private static final long OPCODE = ibv_wc.opcode$offset();
  private static final long VENDOR = ibv_wc.vendor_err$offset();
  private static final long LENGTH = ibv_wc.byte_len$offset();
  private static final long IMMEDIATE = ibv_wc.imm_data$offset();
  private static final long QUEUE_PAIR = ibv_wc.qp_num$offset();
  private static final long SOURCE = ibv_wc.src_qp$offset();
  private static final long FLAGS = ibv_wc.wc_flags$offset();
  private static final int WITH_IMMEDIATE = IbverbsTypes.IBV_WC_WITH_IMM();
  private static final int WITH_ROUTE = IbverbsTypes.IBV_WC_GRH();
  private static final int SUCCESS = IbverbsTypes.IBV_WC_SUCCESS();
  private static final ValueLayout.OfInt NETWORK_INT =
      ValueLayout.JAVA_INT.withOrder(ByteOrder.BIG_ENDIAN);

  private final int capacity;
  private final MemorySegment table;
  private final long address;
  private final @Nullable WorkQueue[] queues;

  /** The queue of all rows; null if they have each their own, in {@link #queues}. */
  private @Nullable WorkQueue shared;

  private int size;

  /** Room for {@code capacity} completions of one poll. */
  public Completions(int capacity) {
    if (capacity < 1) {
      throw new IllegalArgumentException("a poll takes 1 completion or more, not " + capacity);
    }
    this.capacity = capacity;
    table = Arena.ofAuto().allocate(BYTES * capacity, Long.BYTES);
    address = table.address();
    queues = new WorkQueue[capacity];
  }

  int capacity() {
    return capacity;
  }

  /** Where the table begins, as a device is told. */
  long address() {
    return address;
  }

  void clear() {
    size = 0;
  }

  /**
   * Shows the rows from the first on that are successes of {@code queue} and to be seen: most are,
   * and nothing is to be looked up or moved for them.
   *
   * @param found how many rows there are
   * @return how many are shown now
   */
  int showFirst(@Nullable WorkQueue queue, int found) {
    int row = 0;
    while (queue != null && showPlain(queue, row)) {
      if (++row == found) {
        size = found;
        if (shared != queue) {
          shared = queue; // not always: a store of a reference costs a barrier
        }
        return found;
      }
    }
    Arrays.fill(queues, 0, row, queue);
    shared = null;
    size = row;
    return row;
  }

  private boolean showPlain(WorkQueue queue, int row) {
    long at = Memory.bounded(address + row * BYTES);
    long id = Memory.getLong(at + ID);
    if (!queue.isPlainlyOutstanding(id) || Memory.getInt(at + STATUS) != SUCCESS) {
      return false;
    }
    Memory.setLong(at + ID, queue.nameOf(id));
    queue.completedUpToRelease(id + 1);
    return true;
  }

  /**
   * Shows row {@code row} of the table, a request of {@code queue} that the user called {@code
   * name}. It moves up to the rows that are shown, and the name takes the place of its id.
   */
  void show(int row, WorkQueue queue, long name) {
    int to = size;
    if (row != to) {
      MemorySegment.copy(table, row * BYTES, table, to * BYTES, BYTES);
    }
    Memory.setLong(address + to * BYTES + ID, name);
    if (queues[to] != queue) {
      queues[to] = queue;
    }
    size = to + 1;
  }

  long rawId(int row) {
    return Memory.getLong(address + row * BYTES + ID);
  }

  boolean rawSuccess(int row) {
    return Memory.getInt(address + row * BYTES + STATUS) == SUCCESS;
  }

  int rawQueuePair(int row) {
    return table.get(ValueLayout.JAVA_INT, row * BYTES + QUEUE_PAIR);
  }

  /**
   * The error in row {@code row}, of a request of {@code queue} that the user called {@code name}.
   */
  WorkCompletionException exception(int row, WorkQueue queue, long name) {
    return new WorkCompletionException(
        queue.queuePair().device(),
        Status.of(table.get(ValueLayout.JAVA_INT, row * BYTES + STATUS)),
        queue.isReceives() ? "receive" : "send",
        name,
        queue.queuePair().number(),
        table.get(ValueLayout.JAVA_INT, row * BYTES + VENDOR));
  }

  /** How many the last poll found. */
  public int size() {
    return size;
  }

  private long offset(int index) {
    return Objects.checkIndex(index, size) * BYTES;
  }

  private WorkQueue queue(int index) {
    Objects.checkIndex(index, size);
    return Objects.requireNonNull(shared == null ? queues[index] : shared);
  }

  /** The id that the request was given. */
  public long id(int index) {
    return table.get(ValueLayout.JAVA_LONG, offset(index) + ID);
  }

  /** The queue pair that the request was posted to. */
  public QueuePair queuePair(int index) {
    return queue(index).queuePair();
  }

  /** How the request ended. */
  public Status status(int index) {
    return Status.of(table.get(ValueLayout.JAVA_INT, offset(index) + STATUS));
  }

  /** Whether the request was a receive. */
  public boolean isReceive(int index) {
    return queue(index).isReceives();
  }

  /** Throws the error of request {@code index} if it failed. */
  public void requireSuccess(int index) {
    Objects.checkIndex(index, size);
    if (!rawSuccess(index)) {
      throw exception(index, queue(index), id(index));
    }
  }

  /** What completed; of a failed request it is not known, so this throws its error. */
  public Opcode opcode(int index) {
    requireSuccess(index);
    return Opcode.of(table.get(ValueLayout.JAVA_INT, offset(index) + OPCODE));
  }

  /** Bytes received or read; throws the error of a failed request. */
  public long byteLength(int index) {
    requireSuccess(index);
    return Integer.toUnsignedLong(table.get(ValueLayout.JAVA_INT, offset(index) + LENGTH));
  }

  /** The number of the queue pair that sent a datagram; throws the error of a failed receive. */
  public int sourceQueuePair(int index) {
    requireSuccess(index);
    return table.get(ValueLayout.JAVA_INT, offset(index) + SOURCE);
  }

  /**
   * Whether the first {@link AddressHandle#ROUTE_BYTES} of a received datagram hold a global route
   * header; throws the error of a failed receive.
   */
  public boolean hasRoute(int index) {
    requireSuccess(index);
    return (table.get(ValueLayout.JAVA_INT, offset(index) + FLAGS) & WITH_ROUTE) != 0;
  }

  /** Whether a receive brought an immediate value; throws the error of a failed request. */
  public boolean hasImmediate(int index) {
    requireSuccess(index);
    return (table.get(ValueLayout.JAVA_INT, offset(index) + FLAGS) & WITH_IMMEDIATE) != 0;
  }

  /** The immediate value as the peer gave it; only where {@link #hasImmediate}. */
  public int immediate(int index) {
    if (!hasImmediate(index)) {
      throw new IllegalStateException("completion " + index + " has no immediate value");
    }
    return table.get(NETWORK_INT, offset(index) + IMMEDIATE);
  }
}
