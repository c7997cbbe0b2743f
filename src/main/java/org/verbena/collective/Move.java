package org.verbena.collective;

/** Which end of a pair moves the bytes. */
public enum Move {
  /** The sender writes into the receiver's window. */
  WRITE,
  /** The receiver reads from the sender's window once it is told that the bytes are there. */
  READ
}
