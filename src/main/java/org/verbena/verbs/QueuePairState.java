package org.verbena.verbs;

import org.verbena.ffi.IbverbsTypes;

/** The state of a queue pair. */
public enum QueuePairState {
  /** New, or reset. */
  RESET(IbverbsTypes.IBV_QPS_RESET()),
  /** Takes receives. */
  INIT(IbverbsTypes.IBV_QPS_INIT()),
  /** Ready to receive. */
  RTR(IbverbsTypes.IBV_QPS_RTR()),
  /** Ready to send, and to receive. */
  RTS(IbverbsTypes.IBV_QPS_RTS()),
  /** Send queue drained; this library never asks for it. */
  SQD(IbverbsTypes.IBV_QPS_SQD()),
  /** Send queue in error; not of reliable connections. */
  SQE(IbverbsTypes.IBV_QPS_SQE()),
  /** In error: what is outstanding is flushed, and what is posted too. */
  ERR(IbverbsTypes.IBV_QPS_ERR());

  private final int value;

  QueuePairState(int value) {
    this.value = value;
  }

  int value() {
    return value;
  }

  static QueuePairState of(int value) {
    if (value < 0 || value >= values().length) {
      throw new IllegalArgumentException("no queue pair state has the number " + value);
    }
    return values()[value];
  }
}
