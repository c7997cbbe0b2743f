package org.verbena.verbs;

/**
 * What a queue pair is made with. {@link #DEFAULTS} and the {@code with} methods make one.
 *
 * @param sendDepth send requests that may be outstanding
 * @param receiveDepth receives that may be outstanding
 * @param sendScatter memory pieces that one send request may gather
 * @param receiveScatter memory pieces that one receive may scatter to
 * @param inlineBytes payload that may travel inside a request; lowered where the device refuses it
 * @param readDepth reads and atomics wanted under way at once, each way; lowered to what the device
 *     and the peer can, 0 for none
 * @param minRnrTimer what a peer waits for before it sends again to an empty receive queue; code of
 *     the InfiniBand specification, 1 to 31 and 0 for 655 ms; 12 is 0.64 ms
 * @param timeout what is waited for an acknowledgement: 4.096 µs times 2^timeout, 0 for ever, at
 *     most 31
 * @param retryCount retries before the connection is given up, 0 to 7; some devices, such as rxe,
 *     take 7 for ever, as if it were an RNR retry
 * @param rnrRetry retries against an empty receive queue, 0 to 6; 7 is for ever
 * @param traffic how the network treats what is sent
 * @param pkeyIndex the partition, by its place in the port's table
 * @param atomicWrite whether {@link QueuePair#postAtomicWrite} is wanted; few devices have it, and
 *     creating the queue pair fails on others
 */
public record QueuePairOptions(
    int sendDepth,
    int receiveDepth,
    int sendScatter,
    int receiveScatter,
    int inlineBytes,
    int readDepth,
    int minRnrTimer,
    int timeout,
    int retryCount,
    int rnrRetry,
    Traffic traffic,
    int pkeyIndex,
    boolean atomicWrite) {
  /** 128 sends and receives, one piece each, no inline, 16 reads, finite retries. */
  public static final QueuePairOptions DEFAULTS =
      new QueuePairOptions(128, 128, 1, 1, 0, 16, 12, 14, 6, 6, Traffic.DEFAULTS, 0, false);

  public QueuePairOptions {
    Range.require("send depth", sendDepth, 1, Integer.MAX_VALUE);
    Range.require("receive depth", receiveDepth, 0, Integer.MAX_VALUE);
    Range.require("send scatter", sendScatter, 1, Integer.MAX_VALUE);
    Range.require("receive scatter", receiveScatter, 1, Integer.MAX_VALUE);
    Range.require("inline bytes", inlineBytes, 0, Integer.MAX_VALUE);
    Range.require("read depth", readDepth, 0, 255);
    Range.require("minimum RNR timer", minRnrTimer, 0, 31);
    Range.require("timeout", timeout, 0, 31);
    Range.require("retry count", retryCount, 0, 7);
    Range.require("RNR retry", rnrRetry, 0, 7);
    Range.require("P_Key index", pkeyIndex, 0, 0xffff);
  }

  /** These options with other depths. */
  public QueuePairOptions withDepths(int send, int receive) {
    return new QueuePairOptions(
        send,
        receive,
        sendScatter,
        receiveScatter,
        inlineBytes,
        readDepth,
        minRnrTimer,
        timeout,
        retryCount,
        rnrRetry,
        traffic,
        pkeyIndex,
        atomicWrite);
  }

  /** These options with other numbers of memory pieces. */
  public QueuePairOptions withScatter(int send, int receive) {
    return new QueuePairOptions(
        sendDepth,
        receiveDepth,
        send,
        receive,
        inlineBytes,
        readDepth,
        minRnrTimer,
        timeout,
        retryCount,
        rnrRetry,
        traffic,
        pkeyIndex,
        atomicWrite);
  }

  /** These options with another inline size. */
  public QueuePairOptions withInline(int bytes) {
    return new QueuePairOptions(
        sendDepth,
        receiveDepth,
        sendScatter,
        receiveScatter,
        bytes,
        readDepth,
        minRnrTimer,
        timeout,
        retryCount,
        rnrRetry,
        traffic,
        pkeyIndex,
        atomicWrite);
  }

  /** These options with another number of reads and atomics. */
  public QueuePairOptions withReadDepth(int depth) {
    return new QueuePairOptions(
        sendDepth,
        receiveDepth,
        sendScatter,
        receiveScatter,
        inlineBytes,
        depth,
        minRnrTimer,
        timeout,
        retryCount,
        rnrRetry,
        traffic,
        pkeyIndex,
        atomicWrite);
  }

  /** These options with other retries. */
  public QueuePairOptions withRetries(int ackTimeout, int retries, int rnrTimer, int rnrRetries) {
    return new QueuePairOptions(
        sendDepth,
        receiveDepth,
        sendScatter,
        receiveScatter,
        inlineBytes,
        readDepth,
        rnrTimer,
        ackTimeout,
        retries,
        rnrRetries,
        traffic,
        pkeyIndex,
        atomicWrite);
  }

  /** These options with another treatment by the network. */
  public QueuePairOptions withTraffic(Traffic wanted) {
    return new QueuePairOptions(
        sendDepth,
        receiveDepth,
        sendScatter,
        receiveScatter,
        inlineBytes,
        readDepth,
        minRnrTimer,
        timeout,
        retryCount,
        rnrRetry,
        wanted,
        pkeyIndex,
        atomicWrite);
  }

  /** These options with another partition. */
  public QueuePairOptions withPkeyIndex(int index) {
    return new QueuePairOptions(
        sendDepth,
        receiveDepth,
        sendScatter,
        receiveScatter,
        inlineBytes,
        readDepth,
        minRnrTimer,
        timeout,
        retryCount,
        rnrRetry,
        traffic,
        index,
        atomicWrite);
  }

  /** These options with atomic writes. */
  public QueuePairOptions withAtomicWrite() {
    return new QueuePairOptions(
        sendDepth,
        receiveDepth,
        sendScatter,
        receiveScatter,
        inlineBytes,
        readDepth,
        minRnrTimer,
        timeout,
        retryCount,
        rnrRetry,
        traffic,
        pkeyIndex,
        true);
  }
}
