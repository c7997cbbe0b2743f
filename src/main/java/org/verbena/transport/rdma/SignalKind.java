package org.verbena.transport.rdma;

import java.util.Arrays;
import java.util.Locale;

/** By which operation a rank signals in a peer's window. All ranks of a group use the same. */
public enum SignalKind {
  /** A write of the word itself. Every device can; the default. */
  WRITE,
  /** An atomic addition of what the word must change by, in whole 64-bit words. */
  FETCH_AND_ADD,
  /**
   * A write with immediate data into a mailbox of the peer, which stores the word itself when it
   * takes note. The receiver's part needs it to be in a call; it can sleep until something comes.
   */
  WRITE_WITH_IMMEDIATE,
  /** An atomic write of whole 64-bit words, where the device has it. */
  ATOMIC_WRITE;

  /** The kind's name as settings give it, such as {@code fetch-and-add}. */
  public String text() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** The kind that {@link #text} names. */
  static SignalKind of(String text) {
    return Arrays.stream(values())
        .filter(kind -> kind.text().equals(text))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "signal is '%s'; it must be one of %s"
                        .formatted(text, Arrays.stream(values()).map(SignalKind::text).toList())));
  }
}
