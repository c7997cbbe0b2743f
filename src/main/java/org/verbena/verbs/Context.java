package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.verbena.ffi.ibv_async_event;
import org.verbena.ffi.ibv_context;
import org.verbena.ffi.ibv_device_attr;
import org.verbena.ffi.ibv_device_attr_ex;
import org.verbena.ffi.ibv_gid_entry;
import org.verbena.ffi.ibv_odp_caps;
import org.verbena.ffi.ibv_port_attr;
import org.verbena.ffi.ibv_tso_caps;

/** An open device. Made by {@link Verbs#open(String)}; all methods are thread-safe. */
public final class Context extends Resource {
  /** What a newer library may fill beyond the structures declared here. */
  private static final long SPARE_BYTES = 256;

  private final Driver driver;
  private final String name;
  private final MemorySegment handle;
  private final EventSource events;
  private @Nullable FastCalls calls;

  private Context(Driver driver, String name, MemorySegment handle) {
    this.driver = driver;
    this.name = name;
    this.handle = handle;
    this.events = new EventSource(this, driver, ibv_context.async_fd(handle));
  }

  static Context open(Driver driver, String name) {
    try {
      return new Context(driver, name, driver.openDevice(name));
    } catch (Errno e) {
      throw new VerbsException(
          "ibv_open_device",
          name,
          e.number(),
          switch (e.number()) {
            case Errno.ENODEV -> "no such device";
            case Errno.EACCES, 1 ->
                "/dev/infiniband/uverbsN may not be opened by this user; in a container give the"
                    + " device with --device /dev/infiniband: a mount alone is not let through";
            default -> "is its /dev/infiniband/uverbsN here? A container needs --device";
          });
    }
  }

  Driver driver() {
    return driver;
  }

  @Override
  MemorySegment handle() {
    return handle;
  }

  /** The name of the device. */
  public String name() {
    return name;
  }

  /** Its functions that have no symbol. */
  FastCalls calls() {
    synchronized (lock()) {
      if (calls == null) {
        calls = FastCalls.of(handle, driver);
      }
      return calls;
    }
  }

  VerbsException failure(String verb, Errno errno, String detail) {
    return new VerbsException(verb, name, errno.number(), detail);
  }

  private static MemorySegment allocateFilled(Arena arena, long declared) {
    return arena.allocate(declared + SPARE_BYTES, 8);
  }

  /** The limits of the device. */
  public DeviceAttributes attributes() {
    synchronized (lock()) {
      requireOpen();
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = allocateFilled(arena, ibv_device_attr.sizeof());
        driver.queryDevice(handle, attr);
        return new DeviceAttributes(
            ibv_device_attr.fw_ver(attr).getString(0),
            Long.reverseBytes(ibv_device_attr.node_guid(attr)),
            Long.reverseBytes(ibv_device_attr.sys_image_guid(attr)),
            ibv_device_attr.max_mr_size(attr),
            ibv_device_attr.page_size_cap(attr),
            ibv_device_attr.vendor_id(attr),
            ibv_device_attr.vendor_part_id(attr),
            ibv_device_attr.hw_ver(attr),
            ibv_device_attr.max_qp(attr),
            ibv_device_attr.max_qp_wr(attr),
            ibv_device_attr.device_cap_flags(attr),
            ibv_device_attr.max_sge(attr),
            ibv_device_attr.max_sge_rd(attr),
            ibv_device_attr.max_cq(attr),
            ibv_device_attr.max_cqe(attr),
            ibv_device_attr.max_mr(attr),
            ibv_device_attr.max_pd(attr),
            ibv_device_attr.max_qp_rd_atom(attr),
            ibv_device_attr.max_qp_init_rd_atom(attr),
            AtomicCapability.of(ibv_device_attr.atomic_cap(attr)),
            Short.toUnsignedInt(ibv_device_attr.max_pkeys(attr)),
            Byte.toUnsignedInt(ibv_device_attr.phys_port_cnt(attr)),
            ibv_device_attr.max_srq_wr(attr),
            ibv_device_attr.max_srq_sge(attr));
      } catch (Errno e) {
        throw failure("ibv_query_device", e, "reading the limits of the device");
      }
    }
  }

  /** What the device can beyond {@link #attributes}. */
  public ExtendedAttributes extendedAttributes() {
    synchronized (lock()) {
      requireOpen();
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = allocateFilled(arena, ibv_device_attr_ex.sizeof());
        try {
          driver.queryDeviceEx(handle, attr);
        } catch (Errno e) {
          if (e.number() != Errno.EOPNOTSUPP && e.number() != Errno.ENOSYS) {
            throw failure("ibv_query_device_ex", e, "reading more limits of the device");
          }
          attr.fill((byte) 0);
        }
        return new ExtendedAttributes(
            ibv_device_attr_ex.device_cap_flags_ex(attr),
            ibv_odp_caps.general_caps(ibv_device_attr_ex.odp_caps(attr)),
            ibv_device_attr_ex.completion_timestamp_mask(attr),
            ibv_device_attr_ex.hca_core_clock(attr),
            ibv_device_attr_ex.max_dm_size(attr),
            ibv_tso_caps.max_tso(ibv_device_attr_ex.tso_caps(attr)));
      }
    }
  }

  /** The state of port {@code number}, from 1. */
  public PortAttributes port(int number) {
    synchronized (lock()) {
      requireOpen();
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment attr = allocateFilled(arena, ibv_port_attr.sizeof());
        driver.queryPort(handle, number, attr);
        return new PortAttributes(
            number,
            PortState.of(ibv_port_attr.state(attr)),
            Mtu.of(ibv_port_attr.max_mtu(attr)),
            Mtu.of(ibv_port_attr.active_mtu(attr)),
            LinkLayer.of(ibv_port_attr.link_layer(attr)),
            Integer.toUnsignedLong(ibv_port_attr.max_msg_sz(attr)),
            ibv_port_attr.gid_tbl_len(attr),
            Short.toUnsignedInt(ibv_port_attr.pkey_tbl_len(attr)),
            Short.toUnsignedInt(ibv_port_attr.lid(attr)),
            Short.toUnsignedInt(ibv_port_attr.sm_lid(attr)),
            ibv_port_attr.lmc(attr),
            ibv_port_attr.active_width(attr),
            ibv_port_attr.active_speed(attr),
            ibv_port_attr.phys_state(attr));
      } catch (Errno e) {
        throw failure("ibv_query_port", e, "reading the state of port " + number);
      }
    }
  }

  /** All ports, in their order. */
  public List<PortAttributes> ports() {
    List<PortAttributes> ports = new ArrayList<>();
    for (int number = 1; number <= attributes().ports(); number++) {
      ports.add(port(number));
    }
    return ports;
  }

  /** The used places in the GID tables of all ports; holes and zero entries are left out. */
  public List<GidEntry> gids() {
    long max = ports().stream().mapToLong(PortAttributes::gidTableLength).sum();
    synchronized (lock()) {
      requireOpen();
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment table = ibv_gid_entry.allocateArray(Math.max(max, 1), arena);
        long used = driver.queryGidTable(handle, table, max);
        List<GidEntry> entries = new ArrayList<>();
        for (long i = 0; i < used; i++) {
          MemorySegment entry = ibv_gid_entry.asSlice(table, i);
          Gid gid = Gid.read(ibv_gid_entry.gid(entry), 0);
          if (!gid.isZero()) {
            entries.add(
                new GidEntry(
                    ibv_gid_entry.port_num(entry),
                    ibv_gid_entry.gid_index(entry),
                    gid,
                    GidType.of(ibv_gid_entry.gid_type(entry)),
                    ibv_gid_entry.ndev_ifindex(entry)));
          }
        }
        return entries;
      } catch (Errno e) {
        throw failure("ibv_query_gid_table", e, "reading up to " + max + " GIDs");
      }
    }
  }

  /**
   * The partition key at {@code index} of the table of port {@code number}: 15 bits, and the
   * highest says that its holder is a full member.
   */
  public int pkey(int number, int index) {
    synchronized (lock()) {
      requireOpen();
      try {
        return driver.queryPkey(handle, number, index);
      } catch (Errno e) {
        throw failure("ibv_query_pkey", e, "reading place %d of port %d".formatted(index, number));
      }
    }
  }

  /** A new protection domain: memory and queue pairs work together only within one. */
  public ProtectionDomain createProtectionDomain() {
    synchronized (lock()) {
      requireOpen();
      try {
        return new ProtectionDomain(this, driver.allocPd(handle));
      } catch (Errno e) {
        throw failure("ibv_alloc_pd", e, "allocating a protection domain");
      }
    }
  }

  /** A new channel, to sleep until something completes. */
  public CompletionChannel createCompletionChannel() {
    synchronized (lock()) {
      requireOpen();
      try {
        return new CompletionChannel(this, driver.createCompChannel(handle));
      } catch (Errno e) {
        throw failure("ibv_create_comp_channel", e, "creating a completion channel");
      }
    }
  }

  /**
   * A new completion queue for at least {@code capacity} completions: the send and receive depths
   * of all queue pairs that will use it, added up.
   */
  public CompletionQueue createCompletionQueue(int capacity) {
    return createCompletionQueue(capacity, MemorySegment.NULL, null);
  }

  /** The same, whose {@link CompletionQueue#requestNotification} wakes {@code channel}. */
  public CompletionQueue createCompletionQueue(int capacity, CompletionChannel channel) {
    if (channel.context() != this) {
      throw new IllegalArgumentException("the channel belongs to " + channel.context());
    }
    return createCompletionQueue(capacity, channel.handle(), channel);
  }

  private CompletionQueue createCompletionQueue(
      int capacity, MemorySegment channelHandle, @Nullable CompletionChannel channel) {
    int most = attributes().maxCompletions();
    if (capacity < 1 || capacity > most) {
      throw new IllegalArgumentException(
          "a completion queue of %s holds 1 to %d completions, not %d"
              .formatted(name, most, capacity));
    }
    synchronized (lock()) {
      requireOpen();
      if (channel != null) {
        channel.requireOpen();
      }
      try {
        MemorySegment cq = driver.createCq(handle, capacity, channelHandle);
        return new CompletionQueue(this, cq, channel);
      } catch (Errno e) {
        throw failure("ibv_create_cq", e, "for %d of at most %d".formatted(capacity, most));
      }
    }
  }

  /**
   * Waits for something to happen to the device that no completion tells, one thread at a time. The
   * event is acknowledged when this returns.
   *
   * @return the event; empty if none came within {@code timeout}
   * @throws InterruptedException if this thread is interrupted, within 50 ms
   */
  public Optional<AsyncEvent> awaitEvent(Duration timeout) throws InterruptedException {
    try {
      return Optional.ofNullable(events.await(timeout, this::takeEvent));
    } catch (Errno e) {
      throw failure("ibv_get_async_event", e, "waiting for an event");
    }
  }

  private AsyncEvent takeEvent() throws Errno {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment event = ibv_async_event.allocate(arena);
      driver.takeAsyncEvent(handle, event);
      return decode(event);
    }
  }

  private AsyncEvent decode(MemorySegment event) {
    AsyncEvent.Kind kind = AsyncEvent.Kind.of(ibv_async_event.event_type(event));
    MemorySegment element = ibv_async_event.element(event);
    long address = ibv_async_event.element.qp(element).address();
    Optional<AsyncEvent> decoded =
        switch (kind) {
          case CQ_ERR ->
              find(CompletionQueue.class, address)
                  .map(queue -> new AsyncEvent.OfCompletionQueue(kind, queue));
          case SRQ_ERR, SRQ_LIMIT_REACHED ->
              find(SharedReceiveQueue.class, address)
                  .map(queue -> new AsyncEvent.OfSharedReceiveQueue(kind, queue));
          case QP_FATAL,
              QP_REQ_ERR,
              QP_ACCESS_ERR,
              COMM_EST,
              SQ_DRAINED,
              PATH_MIG,
              PATH_MIG_ERR,
              QP_LAST_WQE_REACHED ->
              find(QueuePair.class, address).map(pair -> new AsyncEvent.OfQueuePair(kind, pair));
          case PORT_ACTIVE,
              PORT_ERR,
              LID_CHANGE,
              PKEY_CHANGE,
              SM_CHANGE,
              CLIENT_REREGISTER,
              GID_CHANGE ->
              Optional.of(new AsyncEvent.OfPort(kind, ibv_async_event.element.port_num(element)));
          case DEVICE_FATAL, WQ_FATAL, UNKNOWN -> Optional.empty();
        };
    return decoded.orElse(new AsyncEvent.OfDevice(kind));
  }

  @Override
  int closingOrder() {
    return 0;
  }

  @Override
  void destroy() {
    events.close(this::closeHandle);
  }

  private void closeHandle() {
    try {
      driver.closeDevice(handle);
    } catch (Errno e) {
      throw failure("ibv_close_device", e, "closing the device");
    }
  }

  @Override
  public String toString() {
    return "device " + name;
  }
}
