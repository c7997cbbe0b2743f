package org.verbena.bootstrap;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Who a process is in its group, and where it finds the others.
 *
 * @param rank its number, from 0 to {@code size - 1}
 * @param size the number of ranks
 * @param localRank its number on its host, where the launcher tells
 * @param localSize the number of ranks on its host, where the launcher tells
 * @param job what tells this run from others that may meet it at the rendezvous, the same on all
 *     ranks; empty if the launcher gives none
 * @param rendezvous where rank 0 is found
 * @param secret by which the ranks prove to each other that they belong, before they say anything
 *     else; empty if they have none and all talk over loopback, or {@code insecure}
 * @param insecure whether ranks without a secret may talk over more than loopback, and so tell
 *     addresses and keys to whoever is there
 */
public record Membership(
    int rank,
    int size,
    OptionalInt localRank,
    OptionalInt localSize,
    String job,
    Rendezvous rendezvous,
    Optional<Secret> secret,
    boolean insecure) {
  private static final int MAX_JOB_LENGTH = 512;

  /** Checks that the rank is one of the group's. */
  public Membership {
    if (size < 1) {
      throw new IllegalArgumentException("size is " + size + ", but a group has at least one rank");
    }
    if (rank < 0 || rank >= size) {
      throw new IllegalArgumentException(
          String.format("rank is %d, but a group of %d has ranks 0..%d", rank, size, size - 1));
    }
    if (job.length() > MAX_JOB_LENGTH) {
      throw new IllegalArgumentException(
          String.format(
              "the job's name has %d characters, more than %d", job.length(), MAX_JOB_LENGTH));
    }
  }

  /** A membership without a secret, which serves on loopback. */
  public Membership(
      int rank,
      int size,
      OptionalInt localRank,
      OptionalInt localSize,
      String job,
      Rendezvous rendezvous) {
    this(rank, size, localRank, localSize, job, rendezvous, Optional.empty(), false);
  }

  /** A membership without what only launchers know. */
  public static Membership of(int rank, int size, Rendezvous rendezvous) {
    return new Membership(rank, size, OptionalInt.empty(), OptionalInt.empty(), "", rendezvous);
  }

  /**
   * Reads what the launcher has set; see {@link Launcher} for the rules.
   *
   * @throws IllegalArgumentException if a variable is missing or wrong; it is named
   */
  public static Membership fromEnvironment(Map<String, String> environment) {
    return Launcher.of(environment).membership(environment);
  }

  /** The same with a secret. */
  public Membership withSecret(Secret secret) {
    return new Membership(
        rank, size, localRank, localSize, job, rendezvous, Optional.of(secret), insecure);
  }

  /** Whether all ranks are known to run on one host. */
  public boolean oneHost() {
    return localSize.orElse(0) == size;
  }

  /**
   * The variables from which {@link #fromEnvironment} reads this membership again, its secret among
   * them: they are for the environment of a process, and not to be shown.
   */
  public Map<String, String> toEnvironment() {
    Map<String, String> variables = new LinkedHashMap<>();
    variables.put("VERBENA_RANK", String.valueOf(rank));
    variables.put("VERBENA_SIZE", String.valueOf(size));
    localRank.ifPresent(n -> variables.put("VERBENA_LOCAL_RANK", String.valueOf(n)));
    localSize.ifPresent(n -> variables.put("VERBENA_LOCAL_SIZE", String.valueOf(n)));
    variables.put("VERBENA_JOB", job);
    variables.put("VERBENA_RENDEZVOUS", rendezvous.toString());
    variables.put(Secret.VARIABLE, secret.map(Secret::word).orElse(""));
    variables.put(Secret.FILE_VARIABLE, "");
    variables.put("VERBENA_INSECURE", insecure ? "1" : "");
    return variables;
  }
}
