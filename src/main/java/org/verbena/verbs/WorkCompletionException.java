package org.verbena.verbs;

/** A work request ended in error; its queue pair takes no more. */
public final class WorkCompletionException extends VerbsException {
  private static final long serialVersionUID = 1;

  private final Status status;
  private final long requestId;
  private final int queuePair;
  private final int vendorCode;

  WorkCompletionException(
      String device, Status status, String request, long requestId, int queuePair, int vendorCode) {
    super(
        "ibv_poll_cq",
        device,
        0,
        "%s request %d of queue pair 0x%06x ended with %s (%s), vendor code 0x%x"
            .formatted(request, requestId, queuePair, status, status.text(), vendorCode));
    this.status = status;
    this.requestId = requestId;
    this.queuePair = queuePair;
    this.vendorCode = vendorCode;
  }

  /** How it ended. */
  public Status status() {
    return status;
  }

  /** The id that the request was given when it was posted. */
  public long requestId() {
    return requestId;
  }

  /** The number of its queue pair. */
  public int queuePair() {
    return queuePair;
  }

  /** What the device adds; its meaning is the vendor's. */
  public int vendorCode() {
    return vendorCode;
  }
}
