package org.verbena.verbs;

/** With whom the atomics of a device are atomic. */
public enum AtomicCapability {
  /** There are none. */
  NONE,
  /** With other atomics of the same device only, not with this host's processors. */
  DEVICE,
  /** With this host's processors too. */
  GLOBAL;

  static AtomicCapability of(int value) {
    return value > 0 && value < values().length ? values()[value] : NONE;
  }
}
