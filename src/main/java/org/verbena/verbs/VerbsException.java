package org.verbena.verbs;

/** A verb failed. The message names the verb, the device, the error and the numbers that matter. */
public class VerbsException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String verb;
  private final String device;
  private final int errno;

  VerbsException(String verb, String device, int errno, String detail) {
    super(
        "%s on %s%s: %s"
            .formatted(verb, device, errno == 0 ? "" : " failed: " + Errno.text(errno), detail));
    this.verb = verb;
    this.device = device;
    this.errno = errno;
  }

  /** The C function that failed, or whose completion did. */
  public String verb() {
    return verb;
  }

  /** The name of the device. */
  public String device() {
    return device;
  }

  /** The error number, or 0 where the failure has none. */
  public int errno() {
    return errno;
  }
}
