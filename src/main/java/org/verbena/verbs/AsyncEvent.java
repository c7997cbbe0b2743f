package org.verbena.verbs;

import org.verbena.ffi.IbverbsTypes;

/** Something that happened to a device and that no completion tells, by what it happened to. */
public sealed interface AsyncEvent {
  /** What happened. The names are those of {@code enum ibv_event_type} without their prefix. */
  enum Kind {
    /** The completion queue was overrun. */
    CQ_ERR(IbverbsTypes.IBV_EVENT_CQ_ERR()),
    /** The queue pair failed, and completions may not tell it. */
    QP_FATAL(IbverbsTypes.IBV_EVENT_QP_FATAL()),
    /** The peer sent what the queue pair does not take. */
    QP_REQ_ERR(IbverbsTypes.IBV_EVENT_QP_REQ_ERR()),
    /** The peer had no access. */
    QP_ACCESS_ERR(IbverbsTypes.IBV_EVENT_QP_ACCESS_ERR()),
    /** The first packet came before the queue pair was ready to send. */
    COMM_EST(IbverbsTypes.IBV_EVENT_COMM_EST()),
    /** The send queue is drained. */
    SQ_DRAINED(IbverbsTypes.IBV_EVENT_SQ_DRAINED()),
    /** The connection took its other path. */
    PATH_MIG(IbverbsTypes.IBV_EVENT_PATH_MIG()),
    /** The connection could not take its other path. */
    PATH_MIG_ERR(IbverbsTypes.IBV_EVENT_PATH_MIG_ERR()),
    /** The device failed. */
    DEVICE_FATAL(IbverbsTypes.IBV_EVENT_DEVICE_FATAL()),
    /** The port came up. */
    PORT_ACTIVE(IbverbsTypes.IBV_EVENT_PORT_ACTIVE()),
    /** The port went down. */
    PORT_ERR(IbverbsTypes.IBV_EVENT_PORT_ERR()),
    /** The port has another LID. */
    LID_CHANGE(IbverbsTypes.IBV_EVENT_LID_CHANGE()),
    /** The port's table of partitions changed. */
    PKEY_CHANGE(IbverbsTypes.IBV_EVENT_PKEY_CHANGE()),
    /** The port has another subnet manager. */
    SM_CHANGE(IbverbsTypes.IBV_EVENT_SM_CHANGE()),
    /** The shared receive queue failed. */
    SRQ_ERR(IbverbsTypes.IBV_EVENT_SRQ_ERR()),
    /** The shared receive queue has fewer receives than its limit. */
    SRQ_LIMIT_REACHED(IbverbsTypes.IBV_EVENT_SRQ_LIMIT_REACHED()),
    /** A queue pair in error takes no more receives from its shared receive queue. */
    QP_LAST_WQE_REACHED(IbverbsTypes.IBV_EVENT_QP_LAST_WQE_REACHED()),
    /** The subnet manager wants subscriptions anew. */
    CLIENT_REREGISTER(IbverbsTypes.IBV_EVENT_CLIENT_REREGISTER()),
    /** The port's table of GIDs changed: an address came or went. */
    GID_CHANGE(IbverbsTypes.IBV_EVENT_GID_CHANGE()),
    /** A work queue of another program's kind failed. */
    WQ_FATAL(IbverbsTypes.IBV_EVENT_WQ_FATAL()),
    /** One that this library does not know. */
    UNKNOWN(-1);

    private final int value;

    Kind(int value) {
      this.value = value;
    }

    static Kind of(int value) {
      for (Kind kind : values()) {
        if (kind.value == value) {
          return kind;
        }
      }
      return UNKNOWN;
    }
  }

  /** What happened. */
  Kind kind();

  /** It happened to a completion queue. */
  record OfCompletionQueue(Kind kind, CompletionQueue queue) implements AsyncEvent {}

  /** It happened to a shared receive queue. */
  record OfSharedReceiveQueue(Kind kind, SharedReceiveQueue queue) implements AsyncEvent {}

  /** It happened to a queue pair. */
  record OfQueuePair(Kind kind, QueuePair queuePair) implements AsyncEvent {}

  /** It happened to a port of the device, numbered from 1. */
  record OfPort(Kind kind, int port) implements AsyncEvent {}

  /** It happened to the device, or to something that was closed meanwhile. */
  record OfDevice(Kind kind) implements AsyncEvent {}
}
