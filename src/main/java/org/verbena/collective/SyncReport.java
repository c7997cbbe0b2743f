package org.verbena.collective;

/**
 * What a parameter sync did, as seen by one rank.
 *
 * @param bytes bytes of all parameters
 * @param checksum their CRC32C, one parameter behind the other
 * @param repeated chunks that arrived damaged at this rank and were sent again
 */
public record SyncReport(long bytes, int checksum, long repeated) {}
