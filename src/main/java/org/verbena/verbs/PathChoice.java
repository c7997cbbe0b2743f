package org.verbena.verbs;

import java.util.List;

/**
 * The outcome of {@link Verbs#open(PathSelector)}.
 *
 * @param context the open device; the caller closes it
 * @param path the port and GID on it
 * @param reason why this one, in words
 * @param rejected what was not taken, each with the reason
 */
public record PathChoice(Context context, RdmaPath path, String reason, List<String> rejected) {}
