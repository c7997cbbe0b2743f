/**
 * RDMA verbs over libibverbs, usable on their own.
 *
 * <p>A {@link org.verbena.verbs.Context} is an open device. Below it are protection domains, memory
 * regions, completion queues and reliable-connected queue pairs; closing one closes what was made
 * from it, queue pairs first. Control calls (create, modify, query, close) may come from any thread
 * and are serialised per device. A {@link org.verbena.verbs.QueuePair} is posted to by one thread
 * at a time, a {@link org.verbena.verbs.CompletionQueue} polled by one thread at a time; any thread
 * may close either meanwhile, and the next call on it throws {@link
 * java.lang.IllegalStateException}.
 *
 * <p>Posting and polling allocate nothing on the heap. Failures of the system are {@link
 * org.verbena.verbs.VerbsException}; wrong arguments are refused before anything reaches the
 * device.
 */
@NullMarked
package org.verbena.verbs;

import org.jspecify.annotations.NullMarked;
