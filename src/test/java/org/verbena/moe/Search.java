package org.verbena.moe;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.verbena.transport.sim.ProtocolViolation;

/**
 * Tries every legal order of calls of a scenario, all ranks against each other, and in each state
 * whether the group may have come to a halt. A state that was reached before, by calls in another
 * order, is not followed again. An exchange can't be copied: to go back, everything is done anew
 * from the start.
 *
 * <p>With {@link Arrival#ANY}, arrivals and completions are steps of their own, and every order of
 * them is tried too. This is affordable for the smallest groups only. {@link Arrival#LATE} and
 * {@link Arrival#EARLY} try one arrival for each message, and are as thorough all the same:
 *
 * <ul>
 *   <li>A message can only do harm by where it lands, by what it leaves from, and by when it is
 *       seen. {@link org.verbena.transport.sim.Network} finds the first two whenever the message
 *       arrives: places are compared when it is posted, and the memory that it leaves from after
 *       each call until it is complete.
 *   <li>If no places are shared, then an arrival can be exchanged with any step but three, without
 *       changing the state that both lead to: the call that receives the message, a call of its
 *       sender that waits for its completion, and the arrival of the message before it from the
 *       same sender. So every order of arrivals can be turned, step by step, into the one in which
 *       each message arrives just before the call that needs it. This is {@code LATE}; and it
 *       leaves everything under way, and incomplete, for as long as can be.
 *   <li>What remains is that a receiving call could go ahead too early. So it is asked, in each
 *       state, whether it would wait; and before it is made, whether it would if any single one of
 *       the signals were missing.
 * </ul>
 *
 * <p>{@code EARLY} is the other end: everything arrives and completes as soon as it is posted. As
 * it has the fewest states, each of them is also used to try all calls that are out of order.
 *
 * <p>That a state is the same as an earlier one is judged by how far the calls are and what is
 * under way, and verified by a checksum of all windows.
 */
final class Search {
  /** When messages arrive. */
  enum Arrival {
    LATE,
    EARLY,
    ANY
  }

  private final Scenario scenario;
  private final Fault fault;
  private final Arrival arrival;
  private final Map<String, Long> visited = new HashMap<>();
  private final Deque<Step> path = new ArrayDeque<>();
  private Simulation simulation;

  private Search(Scenario scenario, Fault fault, Arrival arrival) {
    this.scenario = scenario;
    this.fault = fault;
    this.arrival = arrival;
    simulation = start();
  }

  /**
   * Tries everything.
   *
   * @return how many states there are
   * @throws AssertionError naming the steps that lead to a violation
   */
  static int run(Scenario scenario, Fault fault, Arrival arrival) {
    Search search = new Search(scenario, fault, arrival);
    try {
      search.follow();
    } catch (RuntimeException e) {
      throw new AssertionError(
          e.getMessage() + "\n  " + scenario + ", " + fault + ", " + arrival + "\n  " + search.path,
          e);
    } finally {
      search.simulation.close();
    }
    return search.visited.size();
  }

  private Simulation start() {
    Simulation fresh = new Simulation(scenario, fault);
    fresh.whileWaiting(
        arrival == Arrival.ANY
            ? () -> {
              throw new Waits();
            }
            : fresh.network()::completeAwaited);
    return fresh;
  }

  /** A call that would have to wait for completions: it is not possible yet. */
  private static final class Waits extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Waits() {
      super("waits for completions", null, false, false);
    }
  }

  private void follow() {
    Long sum = simulation.network().checksum();
    Long earlier = visited.putIfAbsent(simulation.describe(), sum);
    if (earlier != null) {
      if (!earlier.equals(sum)) {
        throw new ProtocolViolation("two ways to the same state leave different memory");
      }
      return;
    }
    simulation.checkReadiness();
    simulation.checkProgress();
    if (arrival == Arrival.EARLY) {
      simulation.checkRefusals();
    }
    List<Step> steps = steps();
    boolean here = true;
    for (Step step : steps) {
      if (!here) {
        goBack();
      }
      path.addLast(step);
      if (step instanceof Step.Call call && call.kind().isReceive()) {
        receivable(call);
      }
      here = !take(step);
      if (!here) {
        follow();
      }
      path.removeLast();
    }
    if (steps.isEmpty()) {
      checkEnd();
    }
  }

  private void receivable(Step.Call call) {
    simulation.deliver(call);
    simulation.checkReadiness(call.rank());
    simulation.checkEachIsNeeded(call);
  }

  private void goBack() {
    simulation.close();
    simulation = start();
    for (Step step : path) {
      if (step instanceof Step.Call call && call.kind().isReceive()) {
        simulation.deliver(call);
      }
      take(step);
    }
  }

  private void checkEnd() {
    if (!simulation.legal().isEmpty()) {
      throw new ProtocolViolation("no call can be made: " + simulation.legal());
    }
  }

  private List<Step> steps() {
    List<Step> steps = new ArrayList<>();
    for (Step.Call call : simulation.legal()) {
      boolean possible =
          !call.kind().isReceive()
              || (arrival == Arrival.ANY ? simulation.hasArrived(call) : simulation.isSent(call));
      if (possible) {
        steps.add(call);
      }
    }
    if (arrival == Arrival.ANY) {
      for (int source = 0; source < scenario.ranks(); source++) {
        for (int target = 0; target < scenario.ranks(); target++) {
          if (simulation.network().canDeliver(source, target)) {
            steps.add(new Step.Delivery(source, target));
          }
          if (simulation.network().canComplete(source, target)) {
            steps.add(new Step.Completion(source, target));
          }
        }
      }
    }
    return steps;
  }

  /** Returns whether the step was possible; if not, nothing has changed. */
  private boolean take(Step step) {
    switch (step) {
      case Step.Call call -> {
        try {
          simulation.run(call);
        } catch (Waits _) {
          return false;
        }
        if (arrival == Arrival.EARLY) {
          simulation.network().settle();
        }
      }
      case Step.Delivery delivery ->
          simulation.network().deliver(delivery.source(), delivery.target());
      case Step.Completion completion ->
          simulation.network().complete(completion.source(), completion.target());
    }
    return true;
  }
}
