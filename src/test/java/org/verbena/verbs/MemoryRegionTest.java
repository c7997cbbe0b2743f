package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Re-registration, dma-bufs and what else a device tells of itself. */
class MemoryRegionTest {
  private final StandIn device = new StandIn();
  private final Context context = device.open();
  private final ProtectionDomain domain = context.createProtectionDomain();

  @AfterEach
  void close() {
    context.close();
  }

  @Test
  void reregisteringChangesTheAccessAndTheKeys() {
    MemoryRegion region = domain.allocate(64, Access.REMOTE_READ);
    RemoteRegion before = region.remote();
    region.reregister(region.memory(), Access.REMOTE_WRITE);
    assertThat(device.calls).endsWith("rereg_mr 4");
    assertThat(region.allows(Access.REMOTE_WRITE)).isTrue();
    assertThat(region.allows(Access.LOCAL_WRITE)).as("implied").isTrue();
    assertThat(region.allows(Access.REMOTE_READ)).isFalse();
    assertThat(region.remote().key()).isNotEqualTo(before.key());
    assertThat(region.remote().address()).isEqualTo(before.address());
    assertThat(device.accessOf(region.remote().key())).isEqualTo(3);
  }

  @Test
  void reregisteringMovesToOtherMemory() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment first = arena.allocate(4096, 4096);
      MemorySegment second = arena.allocate(8192, 4096);
      MemoryRegion region = domain.register(first, Access.REMOTE_READ);
      region.reregister(second, Access.REMOTE_READ);
      assertThat(device.calls).endsWith("rereg_mr 1");
      assertThat(region.memory()).isSameAs(second);
      assertThat(region.length()).isEqualTo(8192);
      assertThat(region.remote().address()).isEqualTo(second.address());
      region.reregister(first, Access.REMOTE_WRITE);
      assertThat(device.calls).endsWith("rereg_mr 5");
      int calls = device.calls.size();
      region.reregister(first, Access.REMOTE_WRITE);
      assertThat(device.calls.subList(calls, device.calls.size()))
          .as("nothing is to be changed")
          .noneMatch(call -> call.startsWith("rereg_mr"));
      region.close();
    }
  }

  @Test
  void aRegionThatOwnsItsMemoryDoesNotLeaveIt() {
    MemoryRegion region = domain.allocate(64, Access.LOCAL_WRITE);
    assertThatThrownBy(() -> region.reregister(region.memory().asSlice(8), Access.LOCAL_WRITE))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("owns its memory");
  }

  @Test
  void aRefusedReregistrationLeavesTheRegionAsItWas() {
    MemoryRegion region = domain.allocate(64, Access.LOCAL_WRITE);
    RemoteRegion before = region.remote();
    device.errors.put("rereg_mr 4", Errno.EOPNOTSUPP);
    assertThatThrownBy(() -> region.reregister(region.memory(), Access.REMOTE_READ))
        .hasMessageContainingAll("ibv_rereg_mr", "EOPNOTSUPP", "[REMOTE_READ]", "64 bytes");
    assertThat(region.remote()).isEqualTo(before);
    assertThat(region.allows(Access.REMOTE_READ)).isFalse();
  }

  @Test
  void aDmaBufIsRegisteredByItsDescriptor() {
    MemoryRegion region = domain.registerDmaBuf(17, 8192, 4096, Access.REMOTE_WRITE);
    assertThat(device.calls).contains("reg_dmabuf_mr offset 8192 length 4096 at 8192 of 17");
    assertThat(device.accessOf(region.remote().key())).isEqualTo(3);
    assertThat(region.remote().address()).isEqualTo(8192);
    assertThat(region.length()).isEqualTo(4096);
    assertThatThrownBy(region::memory)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("not mapped here");
    region.close();
    assertThat(device.calls).endsWith("dereg_mr");
  }

  @Test
  void aDmaBufThatCannotBeIsRefused() {
    assertThatThrownBy(() -> domain.registerDmaBuf(-1, 0, 1)).hasMessageContaining("descriptor -1");
    assertThatThrownBy(() -> domain.registerDmaBuf(3, -1, 1)).hasMessageContaining("at -1");
    assertThatThrownBy(() -> domain.registerDmaBuf(3, 0, 0)).hasMessageContaining("0 bytes");
    assertThatThrownBy(() -> domain.registerDmaBuf(3, 0, 2L << 40)).hasMessageContaining("at most");
    device.errors.put("reg_dmabuf_mr offset 0 length 1 at 0 of 3", Errno.EOPNOTSUPP);
    assertThatThrownBy(() -> domain.registerDmaBuf(3, 0, 1))
        .hasMessageContainingAll("ibv_reg_dmabuf_mr", "EOPNOTSUPP", "descriptor 3");
  }

  @Test
  void aFileThatCannotBePinnedIsExplained() {
    device.errors.put("reg_mr", Errno.EFAULT);
    assertThatThrownBy(() -> domain.allocate(64, Access.LOCAL_WRITE))
        .hasMessageContainingAll("EFAULT", "tmpfs or hugetlbfs");
  }

  @Test
  void moreLimitsAreReadWhereTheDeviceTellsThem() {
    assertThat(context.extendedAttributes())
        .isEqualTo(new ExtendedAttributes(1L << 40, 3, 0xff, 156250, 1 << 17, 1 << 18));
    device.errors.put("query_device_ex", Errno.EOPNOTSUPP);
    assertThat(context.extendedAttributes()).isEqualTo(new ExtendedAttributes(0, 0, 0, 0, 0, 0));
    device.errors.put("query_device_ex", Errno.EINVAL);
    assertThatThrownBy(context::extendedAttributes).hasMessageContaining("ibv_query_device_ex");
  }
}
