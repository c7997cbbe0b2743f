package org.verbena.architecture.planted.upper;

/** What {@code Lower} should not know. */
public record Upper(int value) {}
