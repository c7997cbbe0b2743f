package org.verbena.moe;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.verbena.moe.Step.Call;
import org.verbena.transport.sim.ProtocolViolation;

/**
 * Runs a scenario to its end in an order that chance decides. Each rank makes up its mind for a
 * legal call and sticks to it until it can be made. Ranks and connections differ in speed, so that
 * some lag far behind. The same seed gives the same scenario and the same order.
 */
final class RandomSchedule {
  private final Random random;
  private final Scenario scenario;
  private final Simulation simulation;
  private final int ranks;

  /** What each rank is about to call. */
  private final @Nullable Call[] next;

  /** How often a rank, an arrival or a completion takes its turn when it could. */
  private final double[] speeds;

  /** The rank in whose call the schedule goes on; -1 outside of calls. */
  private int calling = -1;

  private final List<Step> history = new ArrayList<>();

  private RandomSchedule(long seed, Fault fault) {
    random = new Random(seed);
    scenario = Scenarios.random(random);
    simulation = new Simulation(scenario, fault);
    simulation.whileWaiting(this::moveWhileWaiting);
    ranks = scenario.ranks();
    next = new Call[ranks];
    speeds = new double[ranks + 2 * ranks * ranks];
    for (int i = 0; i < speeds.length; i++) {
      speeds[i] = Math.pow(0.5, random.nextInt(6));
    }
  }

  /**
   * Runs the schedule of a seed.
   *
   * @throws AssertionError naming the seed and the steps that lead to a violation
   */
  static void run(long seed, Fault fault) {
    RandomSchedule schedule = new RandomSchedule(seed, fault);
    try {
      schedule.run();
    } catch (RuntimeException e) {
      throw new AssertionError(
          "seed %d: %s%n  %s, %s%n  %s"
              .formatted(seed, e.getMessage(), schedule.scenario, fault, schedule.history),
          e);
    } finally {
      schedule.simulation.close();
    }
  }

  private void run() {
    while (move()) {
      // Until nothing is left to do.
    }
    for (Call call : next) {
      if (call != null) {
        throw new ProtocolViolation("deadlock: " + List.of(next));
      }
    }
  }

  /** Takes one step; returns whether there was one to take. */
  private boolean move() {
    List<Step> steps = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      Call call = choose(rank);
      if (call != null && (!call.kind().isReceive() || simulation.hasArrived(call))) {
        steps.add(call);
      }
    }
    addArrivals(steps);
    if (steps.isEmpty()) {
      return false;
    }
    Step step = draw(steps);
    history.add(step);
    if (step instanceof Call call) {
      next[call.rank()] = null;
      calling = call.rank();
      simulation.run(call);
      calling = -1;
      simulation.checkReadiness(call.rank());
    } else {
      move(step);
    }
    return true;
  }

  /** A rank that waits for completions does nothing else, but messages travel on. */
  private void moveWhileWaiting() {
    List<Step> steps = new ArrayList<>();
    addArrivals(steps);
    if (steps.isEmpty()) {
      throw new ProtocolViolation("a rank waits, and nothing is under way");
    }
    Step step = draw(steps);
    history.add(step);
    move(step);
  }

  private void move(Step step) {
    if (step instanceof Step.Delivery delivery) {
      simulation.network().deliver(delivery.source(), delivery.target());
      if (delivery.target() != calling) {
        simulation.checkReadiness(delivery.target());
      }
    } else if (step instanceof Step.Completion completion) {
      simulation.network().complete(completion.source(), completion.target());
    }
  }

  private @Nullable Call choose(int rank) {
    if (next[rank] == null) {
      List<Call> calls = simulation.rank(rank).legal();
      next[rank] = calls.isEmpty() ? null : calls.get(random.nextInt(calls.size()));
    }
    return next[rank];
  }

  private void addArrivals(List<Step> steps) {
    for (int source = 0; source < ranks; source++) {
      for (int target = 0; target < ranks; target++) {
        if (simulation.network().canDeliver(source, target)) {
          steps.add(new Step.Delivery(source, target));
        }
        if (simulation.network().canComplete(source, target)) {
          steps.add(new Step.Completion(source, target));
        }
      }
    }
  }

  private Step draw(List<Step> steps) {
    double sum = 0;
    for (Step step : steps) {
      sum += speed(step);
    }
    double left = random.nextDouble() * sum;
    for (Step step : steps) {
      left -= speed(step);
      if (left < 0) {
        return step;
      }
    }
    return steps.getLast();
  }

  private double speed(Step step) {
    return speeds[
        switch (step) {
          case Call call -> call.rank();
          case Step.Delivery d -> ranks + d.source() * ranks + d.target();
          case Step.Completion c -> ranks + (ranks + c.source()) * ranks + c.target();
        }];
  }
}
