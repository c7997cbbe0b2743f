package org.verbena.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;

class LauncherTest {
  private static final Map<String, String> TORCHRUN =
      Map.of(
          "RANK", "5",
          "WORLD_SIZE", "16",
          "LOCAL_RANK", "1",
          "LOCAL_WORLD_SIZE", "4",
          "MASTER_ADDR", "head",
          "MASTER_PORT", "29400",
          "TORCHELASTIC_RUN_ID", "train",
          "TORCHELASTIC_RESTART_COUNT", "2");

  private static final Map<String, String> OPEN_MPI =
      Map.of(
          "OMPI_COMM_WORLD_RANK", "2",
          "OMPI_COMM_WORLD_SIZE", "3",
          "OMPI_COMM_WORLD_LOCAL_RANK", "2",
          "OMPI_COMM_WORLD_LOCAL_SIZE", "3",
          "PMIX_NAMESPACE", "prterun-host-77@1",
          "OMPI_MCA_ess_base_jobid", "77");

  private static final Map<String, String> SLURM =
      Map.of(
          "SLURM_PROCID", "6",
          "SLURM_STEP_NUM_TASKS", "8",
          "SLURM_LOCALID", "2",
          "SLURM_STEP_NUM_NODES", "2",
          "SLURM_STEP_NODELIST", "gpu[03-04]",
          "SLURM_JOB_ID", "1234567",
          "SLURM_STEP_ID", "4");

  private static final Map<String, String> KUBERNETES =
      Map.of("JOB_COMPLETION_INDEX", "1", "WORLD_SIZE", "4", "MASTER_ADDR", "moe-0.moe");

  @Test
  void torchrunTellsAllAndThePortIsNextToItsOwn() {
    assertThat(Membership.fromEnvironment(TORCHRUN))
        .isEqualTo(
            new Membership(
                5,
                16,
                OptionalInt.of(1),
                OptionalInt.of(4),
                "train/2",
                new Rendezvous.At("head", 29401)));
  }

  @Test
  void withoutAPortTheOneAfterTheUsualPortIsTaken() {
    assertThat(Membership.fromEnvironment(without(TORCHRUN, "MASTER_PORT")).rendezvous())
        .isEqualTo(new Rendezvous.At("head", 29501));
  }

  @Test
  void ofRankSizeAndAddressNoneMayBeMissing() {
    for (String name : new String[] {"WORLD_SIZE", "MASTER_ADDR"}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> Membership.fromEnvironment(without(TORCHRUN, name)))
          .withMessageContaining(name)
          .withMessageContaining("VERBENA_");
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Membership.fromEnvironment(without(TORCHRUN, "RANK")))
        .withMessageContaining("none of RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID");
  }

  @Test
  void whatIsNoNumberOrNotInTheGroupIsNamed() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Membership.fromEnvironment(with(TORCHRUN, "RANK", "five")))
        .withMessage("RANK is 'five', not a number");
    for (String rank : new String[] {"-1", "16"}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> Membership.fromEnvironment(with(TORCHRUN, "RANK", rank)))
          .withMessage("rank is " + rank + ", but a group of 16 has ranks 0..15");
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Membership.fromEnvironment(with(TORCHRUN, "WORLD_SIZE", "0")))
        .withMessage("size is 0, but a group has at least one rank");
  }

  @Test
  void openMpiOnOneHostMeetsInAFileNamedAfterTheJob() {
    assertThat(Membership.fromEnvironment(OPEN_MPI))
        .isEqualTo(
            new Membership(
                2,
                3,
                OptionalInt.of(2),
                OptionalInt.of(3),
                "prterun-host-77@1",
                new Rendezvous.InFile(
                    Path.of(
                        System.getProperty("java.io.tmpdir"),
                        "verbena-prterun-host-77_1.rendezvous"))));
    assertThat(Membership.fromEnvironment(without(OPEN_MPI, "PMIX_NAMESPACE")).job())
        .isEqualTo("77");
  }

  @Test
  void openMpiOnSeveralHostsNeedsAnAddress() {
    Map<String, String> wide = with(OPEN_MPI, "OMPI_COMM_WORLD_LOCAL_SIZE", "2");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Membership.fromEnvironment(wide))
        .withMessageContaining("MASTER_ADDR");
    assertThat(Membership.fromEnvironment(with(wide, "MASTER_ADDR", "head")).rendezvous())
        .isEqualTo(new Rendezvous.At("head", 29501));
  }

  @Test
  void slurmHasRankZeroOnTheFirstNodeAndAPortOfJobAndStep() {
    assertThat(Membership.fromEnvironment(SLURM))
        .isEqualTo(
            new Membership(
                6,
                8,
                OptionalInt.of(2),
                OptionalInt.empty(),
                "1234567.4",
                new Rendezvous.At("gpu03", 24571)));
    assertThat(Membership.fromEnvironment(with(SLURM, "SLURM_RESTART_COUNT", "1")).job())
        .isEqualTo("1234567.4.1");
    assertThat(Membership.fromEnvironment(with(SLURM, "SLURM_STEP_NUM_NODES", "1")).oneHost())
        .isTrue();
  }

  @Test
  void theFirstNodeIsFoundHoweverSlurmWritesTheList() {
    Map<String, String> lists =
        Map.of(
            "login1", "login1",
            "a,b", "a",
            "gpu[3,5-7],x", "gpu3",
            "rack[1-2]n[08-09]-ib,z[1-2]", "rack1n08-ib");
    lists.forEach(
        (list, first) ->
            assertThat(
                    Membership.fromEnvironment(with(SLURM, "SLURM_STEP_NODELIST", list))
                        .rendezvous())
                .isEqualTo(new Rendezvous.At(first, 24571)));
  }

  @Test
  void kubernetesNeedsSizeAndAddressInItsTemplate() {
    assertThat(Membership.fromEnvironment(KUBERNETES))
        .isEqualTo(Membership.of(1, 4, new Rendezvous.At("moe-0.moe", 29501)));
    for (String name : new String[] {"WORLD_SIZE", "MASTER_ADDR"}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> Membership.fromEnvironment(without(KUBERNETES, name)))
          .withMessageContaining(name);
    }
  }

  @Test
  void theInnerLauncherDecides() {
    Map<String, String> all = new HashMap<>(KUBERNETES);
    all.putAll(SLURM);
    assertThat(Launcher.of(all)).isEqualTo(Launcher.SLURM);
    all.putAll(OPEN_MPI);
    assertThat(Launcher.of(all)).isEqualTo(Launcher.OPEN_MPI);
    all.putAll(TORCHRUN);
    assertThat(Launcher.of(all)).isEqualTo(Launcher.TORCHRUN);
  }

  @Test
  void eachValueCanBeOverriddenAlone() {
    assertThat(Membership.fromEnvironment(with(TORCHRUN, "VERBENA_RANK", "7")).rank()).isEqualTo(7);
    assertThat(Membership.fromEnvironment(with(TORCHRUN, "VERBENA_SIZE", "6")).size()).isEqualTo(6);
    assertThat(Membership.fromEnvironment(with(TORCHRUN, "VERBENA_LOCAL_RANK", "3")).localRank())
        .hasValue(3);
    assertThat(Membership.fromEnvironment(with(TORCHRUN, "VERBENA_LOCAL_SIZE", "16")).oneHost())
        .isTrue();
    assertThat(Membership.fromEnvironment(with(TORCHRUN, "VERBENA_JOB", "mine")).job())
        .isEqualTo("mine");
    assertThat(
            Membership.fromEnvironment(with(TORCHRUN, "VERBENA_RENDEZVOUS", "other:7"))
                .rendezvous())
        .isEqualTo(new Rendezvous.At("other", 7));
    assertThat(Membership.fromEnvironment(with(TORCHRUN, "VERBENA_RANK", " ")).rank()).isEqualTo(5);
  }

  @Test
  void aMembershipIsReadBackFromItsOwnVariables() {
    Membership membership =
        OneHost.membership(1, 2, "job", new Rendezvous.InFile(Path.of("/tmp/a b")));
    assertThat(Membership.fromEnvironment(membership.toEnvironment())).isEqualTo(membership);
    Map<String, String> inherited = new HashMap<>(TORCHRUN);
    inherited.putAll(membership.toEnvironment());
    assertThat(Membership.fromEnvironment(inherited)).isEqualTo(membership);
  }

  private static Map<String, String> with(
      Map<String, String> variables, String name, String value) {
    Map<String, String> changed = new HashMap<>(variables);
    changed.put(name, value);
    return changed;
  }

  private static Map<String, String> without(Map<String, String> variables, String name) {
    Map<String, String> changed = new HashMap<>(variables);
    changed.remove(name);
    return changed;
  }
}
