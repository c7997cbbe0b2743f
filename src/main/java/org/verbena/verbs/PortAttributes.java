package org.verbena.verbs;

/**
 * A port, as {@code ibv_query_port} tells it.
 *
 * @param number from 1
 * @param maxMessageBytes the longest message, in bytes
 * @param gidTableLength places in the GID table, holes included
 * @param lid local identifier, 0 on Ethernet
 * @param subnetManagerLid the subnet manager's, 0 on Ethernet
 * @param lidMask low bits of the LID that are path bits
 * @param activeWidth encoded as the InfiniBand specification does: 1 is 1x, 2 is 4x
 * @param activeSpeed encoded as the InfiniBand specification does: 1 is 2.5 Gb/s a lane
 */
public record PortAttributes(
    int number,
    PortState state,
    Mtu maxMtu,
    Mtu activeMtu,
    LinkLayer linkLayer,
    long maxMessageBytes,
    int gidTableLength,
    int pkeyTableLength,
    int lid,
    int subnetManagerLid,
    int lidMask,
    int activeWidth,
    int activeSpeed,
    int physicalState) {}
