package org.verbena.bootstrap;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What starts the ranks, and the variables by which it tells each who it is.
 *
 * <p>The first launcher, in the order of this enum, whose rank variable is set decides: so it is
 * the inner one where they are nested ({@code torchrun} or {@code mpirun} in a Slurm job). Each
 * value can be overridden alone by {@code VERBENA_RANK}, {@code VERBENA_SIZE}, {@code
 * VERBENA_LOCAL_RANK}, {@code VERBENA_LOCAL_SIZE}, {@code VERBENA_JOB} and {@code
 * VERBENA_RENDEZVOUS}. An empty variable counts as not set.
 *
 * <p>The {@linkplain Secret secret} is {@code VERBENA_SECRET} or in the file {@code
 * VERBENA_SECRET_FILE}; {@code VERBENA_INSECURE=1} lets ranks do without one.
 *
 * <p>The rendezvous is {@code VERBENA_RENDEZVOUS}, or else {@code MASTER_ADDR} and the port after
 * {@code MASTER_PORT} (29500 unless set): {@code MASTER_PORT} itself belongs to the engine, whose
 * launcher may hold it already. Only where neither is set, the launcher's own rule applies.
 */
public enum Launcher {
  /** {@code torchrun}, and all that set its variables; needs {@code MASTER_ADDR}. */
  TORCHRUN("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE") {
    @Override
    String job(Map<String, String> environment) {
      return joined(environment, "/", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT");
    }
  },

  /**
   * {@code mpirun} of Open MPI, which gives no address of rank 0: ranks on one host meet in a file
   * named after the job, others need {@code mpirun -x MASTER_ADDR=host}.
   */
  OPEN_MPI(
      "OMPI_COMM_WORLD_RANK",
      "OMPI_COMM_WORLD_SIZE",
      "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE") {
    @Override
    String job(Map<String, String> environment) {
      return first(environment, "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid");
    }

    @Override
    @Nullable Rendezvous rendezvous(Map<String, String> environment, String job, boolean oneHost) {
      if (!oneHost || job.isEmpty()) {
        return null;
      }
      String name = "verbena-" + job.replaceAll("[^A-Za-z0-9.-]", "_") + ".rendezvous";
      return new Rendezvous.InFile(Path.of(System.getProperty("java.io.tmpdir"), name));
    }
  },

  /**
   * {@code srun}, whose step has rank 0 on the first node of its list. The port is 20000 + (job +
   * step) mod 10000, below the range from which Linux takes ports for outgoing connections.
   */
  SLURM("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_NUM_NODES") {
    @Override
    String job(Map<String, String> environment) {
      return joined(environment, ".", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT");
    }

    @Override
    OptionalInt localSize(Map<String, String> environment, int size) {
      OptionalInt nodes = super.localSize(environment, size);
      return nodes.equals(OptionalInt.of(1)) ? OptionalInt.of(size) : OptionalInt.empty();
    }

    @Override
    @Nullable Rendezvous rendezvous(Map<String, String> environment, String job, boolean oneHost) {
      String nodes = first(environment, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST");
      OptionalInt id = integer(environment, "SLURM_JOB_ID");
      if (nodes.isEmpty() || id.isEmpty()) {
        return null;
      }
      long sum = (long) id.getAsInt() + integer(environment, "SLURM_STEP_ID").orElse(0);
      return new Rendezvous.At(firstNode(nodes), (int) (20000 + Math.floorMod(sum, 10000L)));
    }
  },

  /**
   * A Job of Kubernetes with {@code completionMode: Indexed}, one rank per pod. Its template must
   * set {@code WORLD_SIZE} (the same as {@code completions}) and {@code MASTER_ADDR} (the pod of
   * index 0, as {@code job-0.service}): Kubernetes tells a pod neither.
   */
  KUBERNETES("JOB_COMPLETION_INDEX", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),

  /** Nobody but the variables of Verbena's own. */
  VERBENA("VERBENA_RANK", "VERBENA_SIZE", "VERBENA_LOCAL_RANK", "VERBENA_LOCAL_SIZE");

  private static final int MASTER_PORT = 29500;

  private final String rank;
  private final String size;
  private final String localRank;
  private final String localSize;

  Launcher(String rank, String size, String localRank, String localSize) {
    this.rank = rank;
    this.size = size;
    this.localRank = localRank;
    this.localSize = localSize;
  }

  /**
   * The launcher whose variables are set.
   *
   * @throws IllegalArgumentException if there is none
   */
  public static Launcher of(Map<String, String> environment) {
    for (Launcher launcher : values()) {
      if (!value(environment, launcher.rank).isEmpty()) {
        return launcher;
      }
    }
    throw new IllegalArgumentException(
        "no launcher has told this process its rank: none of "
            + Arrays.stream(values()).map(l -> l.rank).collect(Collectors.joining(", "))
            + " is set; start it with 'verbena run', torchrun, mpirun or srun, or set VERBENA_RANK,"
            + " VERBENA_SIZE and VERBENA_RENDEZVOUS");
  }

  /** Who this process is, by the rules of this launcher. */
  Membership membership(Map<String, String> environment) {
    int rank = required(environment, "VERBENA_RANK", this.rank);
    int size = required(environment, "VERBENA_SIZE", this.size);
    OptionalInt ownLocalSize = integer(environment, "VERBENA_LOCAL_SIZE");
    OptionalInt localSize = ownLocalSize.isPresent() ? ownLocalSize : localSize(environment, size);
    String ownJob = value(environment, "VERBENA_JOB");
    String job = ownJob.isEmpty() ? job(environment) : ownJob;
    boolean oneHost = localSize.orElse(0) == size;
    return new Membership(
        rank,
        size,
        integer(environment, "VERBENA_LOCAL_RANK", localRank),
        localSize,
        job,
        findRendezvous(environment, job, oneHost),
        Secret.fromEnvironment(environment),
        integer(environment, "VERBENA_INSECURE").orElse(0) != 0);
  }

  /** What the launcher calls this run; empty if it has no name for it. */
  String job(Map<String, String> environment) {
    return "";
  }

  OptionalInt localSize(Map<String, String> environment, int size) {
    return integer(environment, localSize);
  }

  /** Where rank 0 is if no variable says so; null if that cannot be known. */
  @Nullable Rendezvous rendezvous(Map<String, String> environment, String job, boolean oneHost) {
    return null;
  }

  private Rendezvous findRendezvous(Map<String, String> environment, String job, boolean oneHost) {
    String own = value(environment, "VERBENA_RENDEZVOUS");
    if (!own.isEmpty()) {
      return Rendezvous.parse(own);
    }
    String host = value(environment, "MASTER_ADDR");
    if (!host.isEmpty()) {
      return new Rendezvous.At(host, integer(environment, "MASTER_PORT").orElse(MASTER_PORT) + 1);
    }
    Rendezvous rule = rendezvous(environment, job, oneHost);
    if (rule == null) {
      throw new IllegalArgumentException(
          this.rank
              + " is set but nothing tells where rank 0 is; set MASTER_ADDR to its host, or"
              + " VERBENA_RENDEZVOUS to host:port or file:/path");
    }
    return rule;
  }

  /** The first name of a list as Slurm writes it: {@code gpu[03-05,09],login1} has gpu03. */
  private static String firstNode(String nodes) {
    String first = nodes.replaceAll("\\[([^],-]*)[^]]*]", "$1");
    return first.split(",", 2)[0];
  }

  private static int required(Map<String, String> environment, String own, String theirs) {
    return integer(environment, own, theirs)
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    theirs.equals(own)
                        ? own + " is not set"
                        : "neither " + theirs + " nor " + own + " is set"));
  }

  private static OptionalInt integer(Map<String, String> environment, String... names) {
    for (String name : names) {
      String value = value(environment, name);
      if (!value.isEmpty()) {
        try {
          return OptionalInt.of(Integer.parseInt(value));
        } catch (NumberFormatException e) {
          throw new IllegalArgumentException(name + " is '" + value + "', not a number", e);
        }
      }
    }
    return OptionalInt.empty();
  }

  private static String joined(Map<String, String> environment, String separator, String... names) {
    return Arrays.stream(names)
        .map(name -> value(environment, name))
        .filter(value -> !value.isEmpty())
        .collect(Collectors.joining(separator));
  }

  private static String first(Map<String, String> environment, String... names) {
    return Arrays.stream(names)
        .map(name -> value(environment, name))
        .filter(value -> !value.isEmpty())
        .findFirst()
        .orElse("");
  }

  private static String value(Map<String, String> environment, String name) {
    return environment.getOrDefault(name, "").strip();
  }
}
