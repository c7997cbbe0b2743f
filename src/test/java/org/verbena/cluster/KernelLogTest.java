package org.verbena.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KernelLogTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "WARNING: CPU: 1 PID: 812 at drivers/infiniband/sw/rxe/rxe_pool.c:116 rxe_pool_cleanup",
        "BUG: kernel NULL pointer dereference, address: 0000000000000008",
        "watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [kworker/u8:1:31]",
        "INFO: task ib_write_bw:901 blocked for more than 120 seconds.",
        "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
        "rdma_rxe: rxe_register_device failed with error -23",
        "refcount_t: underflow; use-after-free.",
        "Kernel panic - not syncing: Fatal exception in interrupt",
      })
  void findsWhatNoTestMayCause(String message) {
    String line = "[  117.250001] " + message;
    assertThat(KernelLog.faults("[    1.000000] Linux version 7\n" + line, 2))
        .containsExactly(line);
  }

  @Test
  void passesWhatAClusterOrdinarilySays() {
    String dmesg =
        """
        [   81.359822] br-0fb4333e5824: port 2(veth73d55fb) entered forwarding state
        [   83.634701] infiniband rxe_node2_ab12: set active
        [   83.634801] infiniband rxe_node2_ab12: added eth0
        [  148.415518] eth0: Caught tx_queue_len zero misconfig
        """;
    assertThat(KernelLog.faults(dmesg, 0)).isEmpty();
    assertThat(KernelLog.lastTime(dmesg)).isEqualTo(148.415518);
  }

  @Test
  void forgetsWhatWasThereBefore() {
    String old = "[   10.000000] BUG: of an earlier run";
    assertThat(KernelLog.faults(old, KernelLog.lastTime(old))).isEmpty();
  }
}
