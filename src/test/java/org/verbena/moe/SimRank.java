package org.verbena.moe;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.SequencedMap;
import java.util.stream.IntStream;
import org.verbena.bootstrap.Group;
import org.verbena.moe.Round.Phase;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.sim.ProtocolViolation;

/** One rank of a simulated group: its exchange, what it may call next, and its engine. */
final class SimRank {
  private final Scenario scenario;
  private final Fault fault;
  private final int rank;
  private final Exchange exchange;

  /** How far each round is, by the design and not by the exchange. */
  private final Phase[] phases;

  private final ReceivedRows[] received;
  private final OutgoingRows outgoing = new OutgoingRows();
  private final MemorySegment tokens;
  private final MemorySegment experts;
  private final MemorySegment weights;
  private final MemorySegment output;
  private int begun;

  SimRank(
      Scenario scenario,
      Fault fault,
      int rank,
      TransportProvider provider,
      ExchangeConfig config,
      Arena arena) {
    this.scenario = scenario;
    this.fault = fault;
    this.rank = rank;
    exchange = Exchange.open(new Lone(rank, scenario.ranks()), provider, config, fault.rules());
    phases = new Phase[scenario.rounds()];
    Arrays.fill(phases, Phase.FREE);
    received = new ReceivedRows[scenario.rounds()];
    long places = scenario.shape().tokens();
    long hidden = scenario.shape().hidden();
    tokens = arena.allocate(2 * places * hidden, 64);
    experts = arena.allocate(4 * places * scenario.shape().topk(), 64);
    weights = arena.allocate(4 * places * scenario.shape().topk(), 64);
    output = arena.allocate(2 * places * scenario.ranks() * scenario.shape().topk() * hidden, 64);
  }

  /** A group in which all are configured alike, as they come from one scenario. */
  private record Lone(int rank, int size) implements Group {
    @Override
    public Duration timeout() {
      return DEFAULT_TIMEOUT;
    }

    @Override
    public void agree(SequencedMap<String, String> fields) {}

    @Override
    public List<byte[]> allGather(String operation, byte[] mine) {
      throw new UnsupportedOperationException(operation);
    }

    @Override
    public void close() {}
  }

  /** The calls that the design allows next. */
  List<Step.Call> legal() {
    List<Step.Call> calls = new ArrayList<>(3);
    int inFlight = fault.inFlight(scenario.halves());
    if (begun < phases.length && (begun < inFlight || fault.isFree(phases[begun - inFlight]))) {
      add(calls, Step.Kind.SEND_DISPATCH, begun);
    }
    int oldest = Math.max(0, begun - scenario.halves());
    for (int round = oldest; round < begun; round++) {
      switch (phases[round]) {
        case DISPATCH_SENT -> {
          if (round == oldest || fault.mayReceiveDispatch(phases[round - 1])) {
            add(calls, Step.Kind.RECEIVE_DISPATCH, round);
          }
        }
        case DISPATCH_RECEIVED ->
            add(
                calls,
                scenario.inPlace() ? Step.Kind.BEGIN_COMBINE : Step.Kind.SEND_COMBINE,
                round);
        case COMBINE_BEGUN -> add(calls, Step.Kind.FINISH_COMBINE, round);
        case COMBINE_SENT -> add(calls, Step.Kind.RECEIVE_COMBINE, round);
        case FREE -> {}
      }
    }
    return calls;
  }

  private void add(List<Step.Call> calls, Step.Kind kind, int round) {
    calls.add(new Step.Call(rank, kind, scenario.firstEpoch() + round));
  }

  /** Whether the exchange says that a receiving call would not wait. */
  boolean isReady(Step.Call call) {
    return call.kind() == Step.Kind.RECEIVE_DISPATCH
        ? exchange.isDispatchReady(call.epoch())
        : exchange.isCombineReady(call.epoch());
  }

  /** Makes a call, and checks what comes of it. */
  void run(Step.Call call) {
    int round = (int) (call.epoch() - scenario.firstEpoch());
    switch (call.kind()) {
      case SEND_DISPATCH -> sendDispatch(call.epoch());
      case RECEIVE_DISPATCH -> receiveDispatch(call.epoch(), round);
      case SEND_COMBINE -> sendCombine(call.epoch(), received[round]);
      case BEGIN_COMBINE -> beginCombine(call.epoch(), received[round]);
      case FINISH_COMBINE -> finishCombine(call.epoch(), received[round]);
      case RECEIVE_COMBINE -> receiveCombine(call.epoch());
    }
    phases[round] =
        switch (call.kind()) {
          case SEND_DISPATCH -> Phase.DISPATCH_SENT;
          case RECEIVE_DISPATCH -> Phase.DISPATCH_RECEIVED;
          case BEGIN_COMBINE -> Phase.COMBINE_BEGUN;
          case SEND_COMBINE, FINISH_COMBINE -> Phase.COMBINE_SENT;
          case RECEIVE_COMBINE -> Phase.FREE;
        };
  }

  /** The input may be changed as soon as the call has returned, so it is. */
  private void sendDispatch(long epoch) {
    Batch batch = scenario.batch(rank, epoch);
    copy(batch.tokens, tokens);
    copy(batch.experts, experts);
    copy(batch.weights, weights);
    exchange.sendDispatch(tokens, experts, weights, batch.count);
    tokens.fill((byte) -1);
    experts.fill((byte) -1);
    weights.fill((byte) -1);
    begun++;
  }

  private static void copy(MemorySegment from, MemorySegment to) {
    MemorySegment.copy(from, 0, to, 0, Math.min(from.byteSize(), to.byteSize()));
  }

  private void receiveDispatch(long epoch, int round) {
    received[round] = exchange.receiveDispatch(epoch, new ReceivedRows());
    checkRows(epoch, received[round]);
  }

  private void checkRows(long epoch, ReceivedRows rows) {
    for (int source = 0; source < scenario.ranks(); source++) {
      scenario.batch(source, epoch).checkRows(rows, source, rank);
    }
  }

  private void sendCombine(long epoch, ReceivedRows rows) {
    checkRows(epoch, rows);
    long at = 0;
    for (int local = 0; local < rows.experts(); local++) {
      int first = rows.firstEntry(local);
      for (int entry = first; entry < first + rows.entries(local); entry++) {
        long from = rows.offset(rows.entryRow(entry));
        for (int column = 0; column < scenario.shape().hidden(); column++) {
          short value = rows.memory().get(ValueLayout.JAVA_SHORT, from + 2L * column);
          short made = Batch.output(rows.expertId(local), value);
          output.setAtIndex(ValueLayout.JAVA_SHORT, at++, made);
        }
      }
    }
    exchange.sendCombine(epoch, output);
    output.fill((byte) -1);
  }

  private void beginCombine(long epoch, ReceivedRows rows) {
    exchange.beginCombine(epoch, outgoing);
    checkRows(epoch, rows);
    for (int row = 0; row < rows.rows(); row++) {
      int source = rows.source(row);
      Batch batch = scenario.batch(source, epoch);
      for (int column = 0; column < scenario.shape().hidden(); column++) {
        short sum = batch.sum(rows.token(row), rank, column);
        outgoing
            .memory(source)
            .set(ValueLayout.JAVA_SHORT, outgoing.offset(row) + 2L * column, sum);
      }
    }
    if (scenario.completing()) {
      completeSome(epoch, rows);
    }
  }

  /** The same ones for the same rank and epoch, so that a schedule can be repeated. */
  private void completeSome(long epoch, ReceivedRows rows) {
    List<Integer> order = new ArrayList<>(IntStream.range(0, rows.rows()).boxed().toList());
    Random random = new Random(epoch * 31 + rank);
    if (scenario.combineOrder() == ExchangeConfig.CombineOrder.ANY_ORDER) {
      Collections.shuffle(order, random);
    }
    order.subList(0, random.nextInt(rows.rows() + 1)).forEach(outgoing::complete);
  }

  private void finishCombine(long epoch, ReceivedRows rows) {
    checkRows(epoch, rows);
    exchange.finishCombine(epoch);
  }

  private void receiveCombine(long epoch) {
    exchange.receiveCombine(epoch, output);
    scenario.batch(rank, epoch).checkResults(rank, epoch, output);
    output.fill((byte) -1);
  }

  /** Checks that every call that the design does not allow now is refused at once. */
  void checkRefusals() {
    List<Step.Call> legal = legal();
    for (int round = 0; round < begun; round++) {
      long epoch = scenario.firstEpoch() + round;
      boolean received =
          round >= begun - scenario.halves() && phases[round] == Phase.DISPATCH_RECEIVED;
      for (Step.Kind kind : Step.Kind.values()) {
        boolean combines = kind == Step.Kind.SEND_COMBINE || kind == Step.Kind.BEGIN_COMBINE;
        Step.Call call = new Step.Call(rank, kind, epoch);
        if (kind != Step.Kind.SEND_DISPATCH && !(combines && received) && !legal.contains(call)) {
          requireRefused(call);
        }
      }
    }
    Step.Call next = new Step.Call(rank, Step.Kind.SEND_DISPATCH, scenario.firstEpoch() + begun);
    if (begun < phases.length && !legal.contains(next)) {
      requireRefused(next);
    }
  }

  private void requireRefused(Step.Call call) {
    try {
      switch (call.kind()) {
        case SEND_DISPATCH -> exchange.sendDispatch(tokens, experts, weights, 0);
        case RECEIVE_DISPATCH -> exchange.receiveDispatch(call.epoch(), new ReceivedRows());
        case SEND_COMBINE -> exchange.sendCombine(call.epoch(), output);
        case BEGIN_COMBINE -> exchange.beginCombine(call.epoch(), new OutgoingRows());
        case FINISH_COMBINE -> exchange.finishCombine(call.epoch());
        case RECEIVE_COMBINE -> exchange.receiveCombine(call.epoch(), output);
      }
    } catch (IllegalStateException _) {
      return;
    }
    throw new ProtocolViolation(call + " was not refused");
  }

  /** How far this rank is, in characters that are equal if and only if it is the same. */
  void describe(StringBuilder text) {
    text.append((char) ('A' + begun));
    for (int round = Math.max(0, begun - scenario.halves()); round < begun; round++) {
      text.append(phases[round]).append(' ');
    }
  }

  void close() {
    exchange.close();
  }
}
