package org.verbena.verbs;

import org.verbena.ffi.IbverbsTypes;

/** The payload of the largest packet of a path, in the sizes that InfiniBand knows. */
public enum Mtu {
  MTU_256(IbverbsTypes.IBV_MTU_256()),
  MTU_512(IbverbsTypes.IBV_MTU_512()),
  MTU_1024(IbverbsTypes.IBV_MTU_1024()),
  MTU_2048(IbverbsTypes.IBV_MTU_2048()),
  MTU_4096(IbverbsTypes.IBV_MTU_4096());

  private final int value;

  Mtu(int value) {
    this.value = value;
  }

  /** Payload bytes per packet. */
  public int bytes() {
    return 128 << value;
  }

  /** The smaller of this and {@code other}: what both ends of a path can take. */
  public Mtu min(Mtu other) {
    return compareTo(other) <= 0 ? this : other;
  }

  /** The MTU of {@code bytes}; refuses sizes that are none. */
  public static Mtu ofBytes(int bytes) {
    for (Mtu mtu : values()) {
      if (mtu.bytes() == bytes) {
        return mtu;
      }
    }
    throw new IllegalArgumentException(
        "no MTU of " + bytes + " bytes; it is 256, 512, 1024, 2048 or 4096");
  }

  /** The value of {@code enum ibv_mtu}: 1 for 256 up to 5 for 4096. */
  int value() {
    return value;
  }

  static Mtu of(int value) {
    if (value < 1 || value > values().length) {
      throw new IllegalArgumentException("no MTU has the number " + value + "; it is 1 to 5");
    }
    return values()[value - 1];
  }
}
