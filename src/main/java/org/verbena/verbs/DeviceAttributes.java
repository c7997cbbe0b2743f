package org.verbena.verbs;

/**
 * The limits of a device, as {@code ibv_query_device} tells them. GUIDs are in the order in which
 * they are written.
 *
 * @param maxRegionBytes the largest memory region, unsigned
 * @param maxRequests the deepest send or receive queue
 * @param maxScatter scatter entries of a request
 * @param maxCompletions the deepest completion queue
 * @param maxResponderReads reads and atomics of a peer that a queue pair answers at once
 * @param maxInitiatorReads reads and atomics that a queue pair may have under way
 * @param ports physical ports, numbered from 1
 * @param maxSharedReceives the deepest shared receive queue
 * @param maxSharedScatter scatter entries of a receive in one
 */
public record DeviceAttributes(
    String firmware,
    long nodeGuid,
    long systemImageGuid,
    long maxRegionBytes,
    long pageSizes,
    int vendorId,
    int vendorPart,
    int hardwareVersion,
    int maxQueuePairs,
    int maxRequests,
    int capabilities,
    int maxScatter,
    int maxReadScatter,
    int maxCompletionQueues,
    int maxCompletions,
    int maxRegions,
    int maxProtectionDomains,
    int maxResponderReads,
    int maxInitiatorReads,
    AtomicCapability atomics,
    int maxPkeys,
    int ports,
    int maxSharedReceives,
    int maxSharedScatter) {}
