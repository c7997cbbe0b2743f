package org.verbena.verbs;

import org.verbena.ffi.IbverbsTypes;

/** The protocol that a GID stands for. Both ends of a connection must use the same. */
public enum GidType {
  INFINIBAND(IbverbsTypes.IBV_GID_TYPE_IB(), "IB"),
  ROCE_V1(IbverbsTypes.IBV_GID_TYPE_ROCE_V1(), "RoCE v1"),
  ROCE_V2(IbverbsTypes.IBV_GID_TYPE_ROCE_V2(), "RoCE v2");

  private final int value;
  private final String title;

  GidType(int value, String title) {
    this.value = value;
    this.title = title;
  }

  int value() {
    return value;
  }

  static GidType of(int value) {
    if (value < 0 || value >= values().length) {
      throw new IllegalArgumentException("no GID type has the number " + value);
    }
    return values()[value];
  }

  @Override
  public String toString() {
    return title;
  }
}
