package org.verbena.moe;

import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.verbena.bootstrap.Group;
import org.verbena.layout.BufferLayout;
import org.verbena.moe.Step.Kind;
import org.verbena.transport.Transport;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.sim.Message;
import org.verbena.transport.sim.Network;
import org.verbena.transport.sim.ProtocolViolation;

/**
 * A group of exchanges in one thread, on a network that does as it is told. Whatever is done, it
 * checks that received rows and results are right to the bit, that no message is overwritten before
 * it is taken or taken before it arrived, and that no memory is rewritten that a write still leaves
 * from.
 */
final class Simulation implements AutoCloseable {
  private final Scenario scenario;
  private final Fault fault;
  private final BufferLayout layout;
  private final Arena arena = Arena.ofConfined();
  private final Network network;
  private final SimRank[] ranks;
  private Runnable idle = () -> {};

  Simulation(Scenario scenario, Fault fault) {
    this.scenario = scenario;
    this.fault = fault;
    layout = scenario.layout();
    network = new Network(scenario.ranks(), layout.allocationBytes());
    ranks = new SimRank[scenario.ranks()];
    ExchangeConfig config = scenario.config(_ -> idle.run());
    for (int rank = 0; rank < ranks.length; rank++) {
      ranks[rank] = new SimRank(scenario, fault, rank, new Provider(), config, arena);
    }
  }

  private final class Provider implements TransportProvider {
    @Override
    public String name() {
      return "sim";
    }

    @Override
    public boolean isDirect() {
      return false;
    }

    @Override
    public Transport open(Group group, long windowBytes) {
      return fault.transport(network, group.rank(), layout);
    }
  }

  Network network() {
    return network;
  }

  SimRank rank(int rank) {
    return ranks[rank];
  }

  /** What happens while a rank waits for its own writes to be complete. */
  void whileWaiting(Runnable idle) {
    this.idle = idle;
  }

  /** All calls that the design allows next. */
  List<Step.Call> legal() {
    List<Step.Call> calls = new ArrayList<>();
    for (SimRank rank : ranks) {
      calls.addAll(rank.legal());
    }
    return calls;
  }

  /** Makes a call. */
  void run(Step.Call call) {
    switch (call.kind()) {
      case SEND_DISPATCH -> network.expect(Message.Kind.DISPATCH, call.epoch());
      case SEND_COMBINE, BEGIN_COMBINE, FINISH_COMBINE ->
          network.expect(Message.Kind.COMBINE, call.epoch());
      case RECEIVE_DISPATCH, RECEIVE_COMBINE -> {}
    }
    ranks[call.rank()].run(call);
    network.checkMemory(call.rank());
    take(call);
  }

  /** Frees the places of what the design says is over with a call. */
  private void take(Step.Call call) {
    switch (call.kind()) {
      case RECEIVE_DISPATCH ->
          network.take(call.rank(), m -> isOf(m, Message.Kind.DISPATCH, call) && m.isSignal());
      case SEND_COMBINE, FINISH_COMBINE ->
          network.take(call.rank(), m -> isOf(m, Message.Kind.DISPATCH, call));
      case RECEIVE_COMBINE -> network.take(call.rank(), m -> isOf(m, Message.Kind.COMBINE, call));
      case SEND_DISPATCH, BEGIN_COMBINE -> {}
    }
  }

  private static boolean isOf(Message message, Message.Kind kind, Step.Call call) {
    return message.kind() == kind && message.epoch() == call.epoch();
  }

  /** The signal of a source that a receiving call waits for; null if it was not sent yet. */
  private @Nullable Message awaited(Step.Call call, int source) {
    boolean dispatch = call.kind() == Kind.RECEIVE_DISPATCH;
    Message.Kind kind = dispatch ? Message.Kind.DISPATCH : Message.Kind.COMBINE;
    long closing = layout.combineProgress(layout.half(call.epoch()), source);
    for (Message message : network.untaken(call.rank())) {
      if (isOf(message, kind, call)
          && message.source() == source
          && message.isSignal()
          && (dispatch || (message.offset() == closing && Signal.isClosing(message.value())))) {
        return message;
      }
    }
    return null;
  }

  private boolean isAwaited(Step.Call call, int source) {
    return fault.isAwaited(call.kind(), scenario.batch(call.rank(), call.epoch()).rows(source));
  }

  /** Whether all that a receiving call waits for was sent. */
  boolean isSent(Step.Call call) {
    for (int source = 0; source < ranks.length; source++) {
      if (isAwaited(call, source) && awaited(call, source) == null) {
        return false;
      }
    }
    return true;
  }

  /** Whether all that a receiving call waits for has arrived. */
  boolean hasArrived(Step.Call call) {
    for (int source = 0; source < ranks.length; source++) {
      Message signal = awaited(call, source);
      if (isAwaited(call, source) && (signal == null || !signal.hasArrived())) {
        return false;
      }
    }
    return true;
  }

  /** Lets arrive what a receiving call waits for, which was sent, and all before it. */
  void deliver(Step.Call call) {
    for (int source = 0; source < ranks.length; source++) {
      Message signal = awaited(call, source);
      if (signal != null) {
        network.deliver(signal);
      }
    }
  }

  /** Checks that a receiving call would wait if any one of the signals had not arrived. */
  void checkEachIsNeeded(Step.Call call) {
    for (int source = 0; source < ranks.length; source++) {
      Message signal = awaited(call, source);
      if (signal != null && isAwaited(call, source)) {
        network.without(signal, () -> require(call, false));
      }
    }
  }

  /** Checks that an exchange is ready for what has arrived, and for nothing else. */
  void checkReadiness(int rank) {
    for (Step.Call call : ranks[rank].legal()) {
      if (call.kind().isReceive()) {
        require(call, hasArrived(call));
      }
    }
  }

  void checkReadiness() {
    for (int rank = 0; rank < ranks.length; rank++) {
      checkReadiness(rank);
    }
  }

  /** Checks that no exchange takes a call out of order. */
  void checkRefusals() {
    for (SimRank rank : ranks) {
      rank.checkRefusals();
    }
  }

  private void require(Step.Call call, boolean ready) {
    if (ranks[call.rank()].isReady(call) != ready) {
      throw new ProtocolViolation(
          ready
              ? call + " does not see signals that have arrived"
              : call + " takes signals for its own that are not");
    }
  }

  /**
   * Checks that the group can't have come to a halt. Every rank may have made up its mind for any
   * of the calls that it may make, so if each of those that are not at their end has one that waits
   * for what was not sent, then none of them will ever send it.
   */
  void checkProgress() {
    List<Step.Call> stuck = new ArrayList<>();
    for (SimRank rank : ranks) {
      List<Step.Call> calls = rank.legal();
      Step.Call waiting = null;
      for (Step.Call call : calls) {
        if (call.kind().isReceive() && !isSent(call)) {
          waiting = call;
        }
      }
      if (waiting != null) {
        stuck.add(waiting);
      } else if (!calls.isEmpty()) {
        return;
      }
    }
    if (!stuck.isEmpty()) {
      throw new ProtocolViolation("deadlock: " + stuck);
    }
  }

  /** The state, in words that are equal if and only if it is the same. */
  String describe() {
    StringBuilder text = new StringBuilder(64);
    for (SimRank rank : ranks) {
      rank.describe(text);
    }
    network.describe(text);
    return text.toString();
  }

  @Override
  public void close() {
    for (SimRank rank : ranks) {
      rank.close();
    }
    network.close();
    arena.close();
  }
}
