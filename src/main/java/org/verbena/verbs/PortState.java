package org.verbena.verbs;

/** The logical state of a port; traffic flows in {@link #ACTIVE} only. */
public enum PortState {
  NOP,
  DOWN,
  INIT,
  ARMED,
  ACTIVE,
  ACTIVE_DEFER;

  static PortState of(int value) {
    return value > 0 && value < values().length ? values()[value] : NOP;
  }
}
