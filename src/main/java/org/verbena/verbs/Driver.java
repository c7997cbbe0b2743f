package org.verbena.verbs;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * The functions of libibverbs that are reached by name, with their C arguments. A failure is thrown
 * as {@link Errno}. Tests put a stand-in here, whose objects have function pointers into Java.
 */
interface Driver {
  /** A device of the list; it need not be one that can be opened. */
  record Found(String name, long guid, int nodeType, int transport) {}

  List<Found> devices() throws Errno;

  MemorySegment openDevice(String name) throws Errno;

  void closeDevice(MemorySegment context) throws Errno;

  void queryDevice(MemorySegment context, MemorySegment attributes) throws Errno;

  void queryPort(MemorySegment context, int port, MemorySegment attributes) throws Errno;

  /** Fills {@code entries} with the used places of all ports; returns how many. */
  long queryGidTable(MemorySegment context, MemorySegment entries, long max) throws Errno;

  MemorySegment allocPd(MemorySegment context) throws Errno;

  void deallocPd(MemorySegment pd) throws Errno;

  MemorySegment regMr(MemorySegment pd, MemorySegment memory, long length, int access) throws Errno;

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

  void resizeCq(MemorySegment cq, int entries) throws Errno;

  void destroyCq(MemorySegment cq) throws Errno;

  MemorySegment createQp(MemorySegment pd, MemorySegment attributes) throws Errno;

  void modifyQp(MemorySegment qp, MemorySegment attributes, int mask) throws Errno;

  void queryQp(MemorySegment qp, MemorySegment attributes, int mask, MemorySegment initAttributes)
      throws Errno;

  void destroyQp(MemorySegment qp) throws Errno;

  /**
   * Whether a function pointer of this driver's contexts may run Java. It must then not be called
   * as a critical function.
   */
  boolean callsJava();
}
