package org.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.List;

/**
 * The functions of libibverbs that are reached by name, with their C arguments. A failure is thrown
 * as {@link Errno}; what a driver need not have fails with EOPNOTSUPP. Tests put a stand-in here,
 * whose objects have function pointers into Java.
 */
interface Driver {
  /** A device of the list; it need not be one that can be opened. */
  record Found(String name, long guid, int nodeType, int transport) {}

  List<Found> devices() throws Errno;

  MemorySegment openDevice(String name) throws Errno;

  void closeDevice(MemorySegment context) throws Errno;

  void queryDevice(MemorySegment context, MemorySegment attributes) throws Errno;

  default void queryDeviceEx(MemorySegment context, MemorySegment attributes) throws Errno {
    throw new Errno(Errno.EOPNOTSUPP);
  }

  void queryPort(MemorySegment context, int port, MemorySegment attributes) throws Errno;

  /** Fills {@code entries} with the used places of all ports; returns how many. */
  long queryGidTable(MemorySegment context, MemorySegment entries, long max) throws Errno;

  /** The partition key at a place, unsigned. */
  default int queryPkey(MemorySegment context, int port, int index) throws Errno {
    throw new Errno(Errno.EOPNOTSUPP);
  }

  MemorySegment allocPd(MemorySegment context) throws Errno;

  void deallocPd(MemorySegment pd) throws Errno;

  MemorySegment regMr(MemorySegment pd, MemorySegment memory, long length, int access) throws Errno;

  default MemorySegment regDmaBuf(
      MemorySegment pd, long offset, long length, long address, int descriptor, int access)
      throws Errno {
    throw new Errno(Errno.EOPNOTSUPP);
  }

  /** Changes what {@code flags} say. */
  default void reregMr(MemorySegment mr, int flags, MemorySegment memory, long length, int access)
      throws Errno {
    throw new Errno(Errno.EOPNOTSUPP);
  }

  void deregMr(MemorySegment mr) throws Errno;

  MemorySegment createCompChannel(MemorySegment context) throws Errno;

  void destroyCompChannel(MemorySegment channel) throws Errno;

  /** Whether something can be read from {@code descriptor} now or within {@code millis}. */
  boolean isReadable(int descriptor, int millis) throws Errno;

  /** Takes the next event of a channel and acknowledges it; blocks where there is none. */
  void takeCqEvent(MemorySegment channel) throws Errno;

  /** Takes the next event of a device and acknowledges it; blocks where there is none. */
  void takeAsyncEvent(MemorySegment context, MemorySegment event) throws Errno;

  MemorySegment createCq(MemorySegment context, int entries, MemorySegment channel) throws Errno;

  default void resizeCq(MemorySegment cq, int entries) throws Errno {
    throw new Errno(Errno.EOPNOTSUPP);
  }

  void destroyCq(MemorySegment cq) throws Errno;

  default MemorySegment createSrq(MemorySegment pd, MemorySegment init) throws Errno {
    throw new Errno(Errno.EOPNOTSUPP);
  }

  default void modifySrq(MemorySegment srq, MemorySegment attributes, int mask) throws Errno {
    throw new Errno(Errno.EOPNOTSUPP);
  }

  default void querySrq(MemorySegment srq, MemorySegment attributes) throws Errno {
    throw new Errno(Errno.EOPNOTSUPP);
  }

  default void destroySrq(MemorySegment srq) throws Errno {
    throw new Errno(Errno.EOPNOTSUPP);
  }

  default MemorySegment createAh(MemorySegment pd, MemorySegment attributes) throws Errno {
    throw new Errno(Errno.EOPNOTSUPP);
  }

  default void destroyAh(MemorySegment ah) throws Errno {
    throw new Errno(Errno.EOPNOTSUPP);
  }

  MemorySegment createQp(MemorySegment pd, MemorySegment attributes) throws Errno;

  /** Creates a queue pair from a {@code struct ibv_qp_init_attr_ex}. */
  default MemorySegment createQpEx(MemorySegment context, MemorySegment attributes) throws Errno {
    throw new Errno(Errno.EOPNOTSUPP);
  }

  /** The {@code struct ibv_qp_ex} of a queue pair that was made by {@link #createQpEx}. */
  default MemorySegment qpEx(MemorySegment qp) throws Errno {
    throw new Errno(Errno.EOPNOTSUPP);
  }

  void modifyQp(MemorySegment qp, MemorySegment attributes, int mask) throws Errno;

  void queryQp(MemorySegment qp, MemorySegment attributes, int mask, MemorySegment initAttributes)
      throws Errno;

  void destroyQp(MemorySegment qp) throws Errno;

  /** The provider whose poll_cq is at {@code function}. */
  default Provider provider(MemorySegment function) {
    return Provider.UNKNOWN;
  }

  /** How long a thread may stay in a function of a context before it counts as hung. */
  default Duration callLimit() {
    return Duration.ofSeconds(10);
  }
}
