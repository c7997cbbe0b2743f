package org.verbena.verbs;

/** What carries the packets of a port. */
public enum LinkLayer {
  UNSPECIFIED,
  INFINIBAND,
  ETHERNET;

  static LinkLayer of(int value) {
    return value > 0 && value < values().length ? values()[value] : UNSPECIFIED;
  }
}
