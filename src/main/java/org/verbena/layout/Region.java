package org.verbena.layout;

/**
 * A named part of the buffer.
 *
 * @param name what it holds, for example {@code "dispatch receive"}
 * @param half the half it belongs to, 0 or 1
 * @param offset its first byte, counted from the start of the buffer; a multiple of 64
 * @param bytes its size with padding; a multiple of 64
 */
public record Region(String name, int half, long offset, long bytes) {}
