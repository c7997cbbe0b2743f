package org.verbena.verbs;

/** Names a memory region to the device that registered it. Never sent to a peer. */
public record LocalKey(int value) {
  @Override
  public String toString() {
    return "0x%08x".formatted(value);
  }
}
