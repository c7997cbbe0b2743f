package org.verbena.verbs;

/**
 * How a work request ended. The names are those of {@code enum ibv_wc_status} without their prefix.
 */
public enum Status {
  SUCCESS("success"),
  LOC_LEN_ERR("a message longer than its receive, or than the port takes"),
  LOC_QP_OP_ERR("the request does not fit the queue pair"),
  LOC_EEC_OP_ERR("local end-to-end context"),
  LOC_PROT_ERR("a scatter entry outside its memory region, or a region without the access"),
  WR_FLUSH_ERR("flushed: the queue pair was in error before the request was done"),
  MW_BIND_ERR("memory window bind"),
  BAD_RESP_ERR("an unexpected response of the peer"),
  LOC_ACCESS_ERR("a peer's write with immediate into memory that does not allow it"),
  REM_INV_REQ_ERR("the peer's queue pair does not take this kind of request, or its length"),
  REM_ACCESS_ERR("the peer's memory: wrong remote key, out of bounds, or no such access"),
  REM_OP_ERR("the peer could not carry it out"),
  RETRY_EXC_ERR(
      "no answer after all retries: peer gone, wrong GID, MTU too large, or UDP port 4791 blocked"),
  RNR_RETRY_EXC_ERR("the peer had no receive posted after all retries"),
  LOC_RDD_VIOL_ERR("local reliable datagram domain"),
  REM_INV_RD_REQ_ERR("remote reliable datagram request"),
  REM_ABORT_ERR("the peer aborted"),
  INV_EECN_ERR("end-to-end context number"),
  INV_EEC_STATE_ERR("end-to-end context state"),
  FATAL_ERR("the device failed"),
  RESP_TIMEOUT_ERR("no response in time"),
  GENERAL_ERR("an error of another kind"),
  /** A number that this library does not know. */
  UNKNOWN("a status that this library does not know");

  private static final Status[] VALUES = values();

  private final String text;

  Status(String text) {
    this.text = text;
  }

  /** What it usually means. */
  public String text() {
    return text;
  }

  static Status of(int value) {
    return value >= 0 && value < VALUES.length - 1 ? VALUES[value] : UNKNOWN;
  }
}
