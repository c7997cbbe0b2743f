package org.verbena.verbs;

/**
 * A used place in the GID table of a port.
 *
 * @param port the port, from 1
 * @param index the place in the port's table, from 0; tables have holes
 * @param gid never zero
 * @param type what speaks through it
 * @param networkInterface kernel index of the network interface it belongs to, 0 without one; not
 *     necessarily one of this network namespace
 */
public record GidEntry(int port, int index, Gid gid, GidType type, int networkInterface) {}
