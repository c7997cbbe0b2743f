package org.verbena.verbs;

/** What completed. */
public enum Opcode {
  SEND,
  RDMA_WRITE,
  RDMA_READ,
  COMPARE_AND_SWAP,
  FETCH_AND_ADD,
  ATOMIC_WRITE,
  RECEIVE,
  RECEIVE_RDMA_WITH_IMMEDIATE,
  /** One that this library does not post. */
  OTHER;

  private static final int FIRST_RECEIVE = 128;

  static Opcode of(int value) {
    return switch (value) {
      case 0 -> SEND;
      case 1 -> RDMA_WRITE;
      case 2 -> RDMA_READ;
      case 3 -> COMPARE_AND_SWAP;
      case 4 -> FETCH_AND_ADD;
      case 9 -> ATOMIC_WRITE;
      case FIRST_RECEIVE -> RECEIVE;
      case FIRST_RECEIVE + 1 -> RECEIVE_RDMA_WITH_IMMEDIATE;
      default -> OTHER;
    };
  }
}
