package org.verbena.verbs;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.verbena.ffi.Ibverbs;
import org.verbena.ffi.IbverbsTypes;
import org.verbena.ffi.ibv_context;
import org.verbena.ffi.ibv_device;
import org.verbena.ffi.ibv_device_attr_ex;
import org.verbena.ffi.ibv_gid_entry;
import org.verbena.ffi.ibv_qp_ex;
import org.verbena.ffi.verbs_context;

/**
 * The installed library. Every function is linked anew with {@code errno} captured, since the
 * generated handles do not capture it; one handle per signature, the function's address first.
 */
@SuppressWarnings("restricted")
final class Libibverbs implements Driver {
  private static final Linker LINKER = Linker.nativeLinker();
  private static final Linker.Option ERRNO = Linker.Option.captureCallState("errno");
  private static final StructLayout STATE = Linker.Option.captureStateLayout();
  private static final VarHandle ERRNO_OF_STATE =
      STATE.varHandle(MemoryLayout.PathElement.groupElement("errno"));

  private static final MethodHandle DESTROY = link(Ibverbs.ibv_destroy_qp$descriptor());
  private static final MethodHandle CREATE = link(Ibverbs.ibv_alloc_pd$descriptor());
  private static final MethodHandle CREATE_CQ = link(Ibverbs.ibv_create_cq$descriptor());
  private static final MethodHandle CREATE_QP = link(Ibverbs.ibv_create_qp$descriptor());
  private static final MethodHandle REG_MR = link(Ibverbs.ibv_reg_mr$descriptor());
  private static final MethodHandle REG_MR_IOVA = link(Ibverbs.ibv_reg_mr_iova2$descriptor());
  private static final MethodHandle QUERY_DEVICE = link(Ibverbs.ibv_query_device$descriptor());
  private static final MethodHandle QUERY_PORT = link(Ibverbs.ibv_query_port$descriptor());
  private static final MethodHandle QUERY_GIDS = link(Ibverbs._ibv_query_gid_table$descriptor());
  private static final MethodHandle REG_DMABUF = link(Ibverbs.ibv_reg_dmabuf_mr$descriptor());
  private static final MethodHandle REREG_MR = link(Ibverbs.ibv_rereg_mr$descriptor());
  private static final MethodHandle QUERY_PKEY = link(Ibverbs.ibv_query_pkey$descriptor());
  private static final MethodHandle MODIFY_QP = link(Ibverbs.ibv_modify_qp$descriptor());
  private static final MethodHandle QUERY_QP = link(Ibverbs.ibv_query_qp$descriptor());
  private static final MethodHandle GET_EVENT = link(Ibverbs.ibv_get_cq_event$descriptor());
  private static final MethodHandle GET_ASYNC_EVENT =
      link(Ibverbs.ibv_get_async_event$descriptor());
  private static final MethodHandle RESIZE_CQ = link(Ibverbs.ibv_resize_cq$descriptor());

  /** {@code int poll(struct pollfd *, nfds_t, int)} of the C library. */
  private static final MethodHandle POLL =
      LINKER.downcallHandle(
          LINKER.defaultLookup().findOrThrow("poll"),
          FunctionDescriptor.of(
              ValueLayout.JAVA_INT,
              ValueLayout.ADDRESS,
              ValueLayout.JAVA_LONG,
              ValueLayout.JAVA_INT),
          ERRNO);

  private static final ValueLayout.OfShort NETWORK_SHORT =
      ValueLayout.JAVA_SHORT.withOrder(ByteOrder.BIG_ENDIAN);

  /** Marks a context that a {@code struct verbs_context} lies around. */
  private static final long EXTENDED = -1;

  private static final long POLLFD_BYTES = 8;
  private static final short POLLIN = 1;

  private static MethodHandle link(FunctionDescriptor descriptor) {
    return LINKER.downcallHandle(descriptor, ERRNO);
  }

  private interface PointerCall {
    MemorySegment invoke(MemorySegment state) throws Throwable;
  }

  private interface IntCall {
    int invoke(MemorySegment state) throws Throwable;
  }

  /** Runs a call that returns NULL on failure. */
  private static MemorySegment pointer(PointerCall call) throws Errno {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      MemorySegment result = call.invoke(state);
      if (result.address() == 0) {
        throw new Errno((int) ERRNO_OF_STATE.get(state, 0L));
      }
      return result;
    } catch (Errno | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new AssertionError("a downcall throws nothing else", e);
    }
  }

  /** Runs a call that returns 0 on success. */
  private static void zero(IntCall call) throws Errno {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment state = arena.allocate(STATE);
      int result = call.invoke(state);
      if (result != 0) {
        throw new Errno(Errno.of(result, (int) ERRNO_OF_STATE.get(state, 0L)));
      }
    } catch (Errno | RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new AssertionError("a downcall throws nothing else", e);
    }
  }

  /** The array of device pointers that a call to ibv_get_device_list gave. */
  private record DeviceList(MemorySegment start, int size) implements AutoCloseable {
    static DeviceList get() throws Errno {
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment size = arena.allocate(ValueLayout.JAVA_INT);
        MemorySegment start =
            pointer(
                state ->
                    (MemorySegment)
                        CREATE.invokeExact(Ibverbs.ibv_get_device_list$address(), state, size));
        return new DeviceList(start, size.get(ValueLayout.JAVA_INT, 0));
      }
    }

    MemorySegment device(int index) {
      return start.getAtIndex(Ibverbs.C_POINTER, index);
    }

    String name(int index) {
      return Ibverbs.ibv_get_device_name(device(index)).getString(0);
    }

    @Override
    public void close() {
      Ibverbs.ibv_free_device_list(start);
    }
  }

  @Override
  public List<Found> devices() throws Errno {
    try (DeviceList list = DeviceList.get()) {
      List<Found> found = new ArrayList<>();
      for (int i = 0; i < list.size(); i++) {
        MemorySegment device = list.device(i);
        found.add(
            new Found(
                list.name(i),
                Long.reverseBytes(Ibverbs.ibv_get_device_guid(device)),
                ibv_device.node_type(device),
                ibv_device.transport_type(device)));
      }
      return found;
    }
  }

  @Override
  public MemorySegment openDevice(String name) throws Errno {
    try (DeviceList list = DeviceList.get()) {
      for (int i = 0; i < list.size(); i++) {
        if (list.name(i).equals(name)) {
          MemorySegment device = list.device(i);
          return pointer(
              state ->
                  (MemorySegment)
                      CREATE.invokeExact(Ibverbs.ibv_open_device$address(), state, device));
        }
      }
      throw new Errno(Errno.ENODEV);
    }
  }

  private static void destroy(MemorySegment function, MemorySegment object) throws Errno {
    zero(state -> (int) DESTROY.invokeExact(function, state, object));
  }

  @Override
  public void closeDevice(MemorySegment context) throws Errno {
    destroy(Ibverbs.ibv_close_device$address(), context);
  }

  @Override
  public void queryDevice(MemorySegment context, MemorySegment attributes) throws Errno {
    zero(
        state ->
            (int)
                QUERY_DEVICE.invokeExact(
                    Ibverbs.ibv_query_device$address(), state, context, attributes));
  }

  @Override
  public void queryDeviceEx(MemorySegment context, MemorySegment attributes) throws Errno {
    MemorySegment function = extended(context, verbs_context.query_device_ex$offset());
    zero(
        _ ->
            verbs_context.query_device_ex.invoke(
                function, context, MemorySegment.NULL, attributes, ibv_device_attr_ex.sizeof()));
  }

  /**
   * The function at {@code offset} of {@code struct verbs_context}, which lies around {@code struct
   * ibv_context} and grows at its front; so only distances from there and to its end are certain.
   */
  private static MemorySegment extended(MemorySegment context, long offset) throws Errno {
    long start = context.address() - verbs_context.context$offset();
    boolean has =
        ibv_context.abi_compat(context).address() == EXTENDED
            && Memory.getLong(start + verbs_context.sz$offset()) >= verbs_context.sizeof() - offset;
    long function = has ? Memory.getLong(start + offset) : 0;
    if (function == 0) {
      throw new Errno(Errno.EOPNOTSUPP);
    }
    return MemorySegment.ofAddress(function);
  }

  @Override
  public void queryPort(MemorySegment context, int port, MemorySegment attributes) throws Errno {
    zero(
        state ->
            (int)
                QUERY_PORT.invokeExact(
                    Ibverbs.ibv_query_port$address(), state, context, (byte) port, attributes));
  }

  @Override
  public long queryGidTable(MemorySegment context, MemorySegment entries, long max) throws Errno {
    long[] count = new long[1];
    zero(
        state -> {
          count[0] =
              (long)
                  QUERY_GIDS.invokeExact(
                      Ibverbs._ibv_query_gid_table$address(),
                      state,
                      context,
                      entries,
                      max,
                      0,
                      ibv_gid_entry.sizeof());
          return (int) Math.min(count[0], 0);
        });
    return count[0];
  }

  @Override
  public int queryPkey(MemorySegment context, int port, int index) throws Errno {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment key = arena.allocate(NETWORK_SHORT);
      zero(
          state ->
              (int)
                  QUERY_PKEY.invokeExact(
                      Ibverbs.ibv_query_pkey$address(), state, context, (byte) port, index, key));
      return Short.toUnsignedInt(key.get(NETWORK_SHORT, 0));
    }
  }

  @Override
  public MemorySegment allocPd(MemorySegment context) throws Errno {
    return pointer(
        state ->
            (MemorySegment) CREATE.invokeExact(Ibverbs.ibv_alloc_pd$address(), state, context));
  }

  @Override
  public void deallocPd(MemorySegment pd) throws Errno {
    destroy(Ibverbs.ibv_dealloc_pd$address(), pd);
  }

  /** As the macro ibv_reg_mr does: optional access flags need the newer function. */
  @Override
  public MemorySegment regMr(MemorySegment pd, MemorySegment memory, long length, int access)
      throws Errno {
    if ((access & IbverbsTypes.IBV_ACCESS_OPTIONAL_RANGE()) != 0) {
      return pointer(
          state ->
              (MemorySegment)
                  REG_MR_IOVA.invokeExact(
                      Ibverbs.ibv_reg_mr_iova2$address(),
                      state,
                      pd,
                      memory,
                      length,
                      memory.address(),
                      access));
    }
    return pointer(
        state ->
            (MemorySegment)
                REG_MR.invokeExact(
                    Ibverbs.ibv_reg_mr$address(), state, pd, memory, length, access));
  }

  @Override
  public MemorySegment regDmaBuf(
      MemorySegment pd, long offset, long length, long address, int descriptor, int access)
      throws Errno {
    return pointer(
        state ->
            (MemorySegment)
                REG_DMABUF.invokeExact(
                    Ibverbs.ibv_reg_dmabuf_mr$address(),
                    state,
                    pd,
                    offset,
                    length,
                    address,
                    descriptor,
                    access));
  }

  /** All failures are told by {@code errno}; the negative result says how far it came. */
  @Override
  public void reregMr(MemorySegment mr, int flags, MemorySegment memory, long length, int access)
      throws Errno {
    zero(
        state -> {
          int result =
              (int)
                  REREG_MR.invokeExact(
                      Ibverbs.ibv_rereg_mr$address(),
                      state,
                      mr,
                      flags,
                      MemorySegment.NULL,
                      memory,
                      length,
                      access);
          return Math.max(result, -1);
        });
  }

  @Override
  public void deregMr(MemorySegment mr) throws Errno {
    destroy(Ibverbs.ibv_dereg_mr$address(), mr);
  }

  @Override
  public MemorySegment createCompChannel(MemorySegment context) throws Errno {
    return pointer(
        state ->
            (MemorySegment)
                CREATE.invokeExact(Ibverbs.ibv_create_comp_channel$address(), state, context));
  }

  @Override
  public void destroyCompChannel(MemorySegment channel) throws Errno {
    destroy(Ibverbs.ibv_destroy_comp_channel$address(), channel);
  }

  @Override
  public void takeCqEvent(MemorySegment channel) throws Errno {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment cq = arena.allocate(Ibverbs.C_POINTER);
      MemorySegment cqContext = arena.allocate(Ibverbs.C_POINTER);
      zero(
          state ->
              (int)
                  GET_EVENT.invokeExact(
                      Ibverbs.ibv_get_cq_event$address(), state, channel, cq, cqContext));
      Ibverbs.ibv_ack_cq_events(cq.get(Ibverbs.C_POINTER, 0), 1);
    }
  }

  @Override
  public void takeAsyncEvent(MemorySegment context, MemorySegment event) throws Errno {
    zero(
        state ->
            (int)
                GET_ASYNC_EVENT.invokeExact(
                    Ibverbs.ibv_get_async_event$address(), state, context, event));
    Ibverbs.ibv_ack_async_event(event);
  }

  @Override
  public boolean isReadable(int descriptor, int millis) throws Errno {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pollfd = arena.allocate(POLLFD_BYTES, ValueLayout.JAVA_INT.byteAlignment());
      pollfd.set(ValueLayout.JAVA_INT, 0, descriptor);
      pollfd.set(ValueLayout.JAVA_SHORT, 4, POLLIN);
      int[] ready = new int[1];
      zero(
          state -> {
            ready[0] = (int) POLL.invokeExact(state, pollfd, 1L, millis);
            boolean interrupted =
                ready[0] < 0 && (int) ERRNO_OF_STATE.get(state, 0L) == Errno.EINTR;
            return interrupted ? 0 : Math.min(ready[0], 0);
          });
      return ready[0] > 0;
    }
  }

  @Override
  public MemorySegment createCq(MemorySegment context, int entries, MemorySegment channel)
      throws Errno {
    return pointer(
        state ->
            (MemorySegment)
                CREATE_CQ.invokeExact(
                    Ibverbs.ibv_create_cq$address(),
                    state,
                    context,
                    entries,
                    MemorySegment.NULL,
                    channel,
                    0));
  }

  @Override
  public void resizeCq(MemorySegment cq, int entries) throws Errno {
    zero(state -> (int) RESIZE_CQ.invokeExact(Ibverbs.ibv_resize_cq$address(), state, cq, entries));
  }

  @Override
  public void destroyCq(MemorySegment cq) throws Errno {
    destroy(Ibverbs.ibv_destroy_cq$address(), cq);
  }

  @Override
  public MemorySegment createSrq(MemorySegment pd, MemorySegment init) throws Errno {
    return pointer(
        state ->
            (MemorySegment)
                CREATE_QP.invokeExact(Ibverbs.ibv_create_srq$address(), state, pd, init));
  }

  @Override
  public void modifySrq(MemorySegment srq, MemorySegment attributes, int mask) throws Errno {
    zero(
        state ->
            (int)
                MODIFY_QP.invokeExact(
                    Ibverbs.ibv_modify_srq$address(), state, srq, attributes, mask));
  }

  @Override
  public void querySrq(MemorySegment srq, MemorySegment attributes) throws Errno {
    zero(
        state ->
            (int)
                QUERY_DEVICE.invokeExact(Ibverbs.ibv_query_srq$address(), state, srq, attributes));
  }

  @Override
  public void destroySrq(MemorySegment srq) throws Errno {
    destroy(Ibverbs.ibv_destroy_srq$address(), srq);
  }

  @Override
  public MemorySegment createAh(MemorySegment pd, MemorySegment attributes) throws Errno {
    return pointer(
        state ->
            (MemorySegment)
                CREATE_QP.invokeExact(Ibverbs.ibv_create_ah$address(), state, pd, attributes));
  }

  @Override
  public void destroyAh(MemorySegment ah) throws Errno {
    destroy(Ibverbs.ibv_destroy_ah$address(), ah);
  }

  @Override
  public MemorySegment createQp(MemorySegment pd, MemorySegment attributes) throws Errno {
    return pointer(
        state ->
            (MemorySegment)
                CREATE_QP.invokeExact(Ibverbs.ibv_create_qp$address(), state, pd, attributes));
  }

  @Override
  public MemorySegment createQpEx(MemorySegment context, MemorySegment attributes) throws Errno {
    MemorySegment function = extended(context, verbs_context.create_qp_ex$offset());
    return pointer(
        state -> (MemorySegment) CREATE_QP.invokeExact(function, state, context, attributes));
  }

  @Override
  public MemorySegment qpEx(MemorySegment qp) {
    return Ibverbs.ibv_qp_to_qp_ex(qp).reinterpret(ibv_qp_ex.sizeof());
  }

  @Override
  public void modifyQp(MemorySegment qp, MemorySegment attributes, int mask) throws Errno {
    zero(
        state ->
            (int)
                MODIFY_QP.invokeExact(
                    Ibverbs.ibv_modify_qp$address(), state, qp, attributes, mask));
  }

  @Override
  public void queryQp(
      MemorySegment qp, MemorySegment attributes, int mask, MemorySegment initAttributes)
      throws Errno {
    zero(
        state ->
            (int)
                QUERY_QP.invokeExact(
                    Ibverbs.ibv_query_qp$address(), state, qp, attributes, mask, initAttributes));
  }

  @Override
  public void destroyQp(MemorySegment qp) throws Errno {
    destroy(Ibverbs.ibv_destroy_qp$address(), qp);
  }

  @Override
  public Provider provider(MemorySegment function) {
    return Provider.of(function);
  }
}
