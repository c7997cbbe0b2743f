package org.verbena.cli;

import java.nio.ByteBuffer;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.verbena.bootstrap.Group;
import org.verbena.bootstrap.Membership;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code verbena group}: whether the ranks of a launcher find each other. */
@Command(
    name = "group",
    mixinStandardHelpOptions = true,
    description = {
      "Joins the group that a launcher has started, and prints who is in it.",
      "Start it with verbena run, torchrun, mpirun, srun, or with variables set by hand."
    })
final class GroupCommand implements Callable<Integer> {
  @Mixin private GroupOptions options;
  @Spec private CommandSpec spec;

  @Override
  public Integer call() {
    Membership membership;
    try {
      membership = options.membership(System.getenv());
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage(), e);
    }
    return RankJob.join(membership, options.timeout(), GroupCommand::print);
  }

  private static void print(Membership membership, Group group) {
    ByteBuffer mine = ByteBuffer.allocate(Long.BYTES).putLong(0, ProcessHandle.current().pid());
    String processes =
        group.allGather("process ids", mine.array()).stream()
            .map(id -> String.valueOf(ByteBuffer.wrap(id).getLong()))
            .collect(Collectors.joining(" "));
    // In one piece: mpirun and others mix what ranks write piecemeal.
    System.out.println(
        String.format(
            "rank %d of %d met at %s: processes %s",
            group.rank(), group.size(), membership.rendezvous(), processes));
  }
}
