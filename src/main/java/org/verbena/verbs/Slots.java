package org.verbena.verbs;

/** What requests are posted to, as a completion queue sees it: where their ends are accounted. */
interface Slots {
  /**
   * Takes note of the completion in row {@code row}: frees slots, keeps the first error, shows it.
   *
   * @return whether {@code id} is of a request that is outstanding here
   */
  boolean completes(long id, int row, Completions into);
}
