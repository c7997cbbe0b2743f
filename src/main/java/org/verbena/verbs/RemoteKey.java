package org.verbena.verbs;

/** Lets a peer reach a memory region. */
public record RemoteKey(int value) {
  @Override
  public String toString() {
    return "0x%08x".formatted(value);
  }
}
