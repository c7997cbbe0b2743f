package org.verbena.moe;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.verbena.bootstrap.Group;
import org.verbena.layout.BufferLayout;
import org.verbena.layout.ExchangeShape;
import org.verbena.layout.LayoutOptions;
import org.verbena.moe.ExchangeConfig.CombineOrder;
import org.verbena.transport.PeerException;
import org.verbena.transport.Registration;
import org.verbena.transport.Traffic;
import org.verbena.transport.Transport;
import org.verbena.transport.TransportProvider;
import org.verbena.transport.Wait;

/**
 * The expert-parallel all-to-all of a mixture-of-experts layer, between the ranks of a group.
 *
 * <p>A <b>round</b> is one dispatch and its combine; its number, from 1, is its <b>epoch</b>. Every
 * rank takes part in every round, with no tokens too:
 *
 * <pre>{@code
 * long epoch = exchange.sendDispatch(tokens, experts, weights, n);
 * exchange.receiveDispatch(epoch, rows);            // rows to the experts of this rank
 * exchange.sendCombine(epoch, expertOutput);        // their results
 * exchange.receiveCombine(epoch, out);              // the weighted sums of this rank's tokens
 * }</pre>
 *
 * <p><b>Order of calls.</b> Within a round in the order above; rounds are sent in the order of
 * their epochs. Two rounds may be in flight, one with a single half. The dispatch of the next round
 * may be sent before this round's combine, so that its travel is hidden behind the experts; but it
 * may not be received before this round's combine was sent, as ranks that wait for each other in
 * different orders would wait forever. A call out of order throws {@link IllegalStateException} at
 * once and changes nothing.
 *
 * <p><b>Arithmetic.</b> A row that goes back is the sum over its entries in top-k order, {@code acc
 * = fma(weight, value, acc)} in fp32 from 0, rounded once to bf16 (to nearest, ties to even). A
 * token's result is the sum over its ranks in ascending order, in fp32 from 0, rounded once to
 * bf16. So a result is the same to the bit on every run and transport. NaN rounds to 0x7FC0. A
 * token without a valid entry gives a row of zeros.
 *
 * <p><b>Memory.</b> Segments given are native (off-heap), live, and aligned to their elements;
 * numbers are little-endian. Tokens are bf16 [n][H], expert ids int32 [n][K] with -1 for none,
 * weights float32 [n][K], results bf16 [n][H], all dense. Inputs may be changed again as soon as
 * the call has returned, unless they are {@linkplain #register registered}; until then no other
 * thread may close their arenas, or the JVM may crash. Bad input is refused with {@link
 * IllegalArgumentException} before anything is sent, and the exchange stays as it was.
 *
 * <p><b>Threads.</b> One thread at a time, any thread; a second one at the same time is refused
 * with {@link IllegalStateException}. No thread of the library's own runs, and none is needed for
 * progress: what was sent arrives although the sender does nothing more. An interrupt ends a wait
 * with {@link org.verbena.transport.WaitInterruptedException}; the same call can then be repeated.
 *
 * <p><b>Failure.</b> If a peer dies, closes, or does not come within the timeout, the wait for it
 * throws {@link PeerException}; a peer that breaks the protocol is an {@link ExchangeException}.
 * After either the exchange can only be closed, and the others learn of it.
 *
 * <p>A steady round allocates nothing on the Java heap, except for guarded views.
 */
public final class Exchange implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Exchange.class.getName());
  private static final VarHandle BUSY;

  static {
    try {
      BUSY = MethodHandles.lookup().findVarHandle(Exchange.class, "busy", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final Transport transport;
  private final BufferLayout layout;
  private final ExchangeShape shape;
  private final ExpertPlacement placement;
  private final Segments segments;
  private final Router router;
  private final Dispatch dispatch;
  private final Combine combine;
  private final RowViews views;
  private final Registrations registrations;
  private final Round[] rounds;
  private final CallRules rules;
  private final Counters counters = new Counters();

  private long nextEpoch;
  private @Nullable RuntimeException failure;
  private boolean closed;

  /** Whether a call is between its first signal and its last. */
  private boolean sending;

  @SuppressWarnings("unused") // Through BUSY only.
  private boolean busy;

  private Exchange(
      Transport transport, BufferLayout layout, ExchangeConfig config, CallRules rules) {
    this.transport = transport;
    this.layout = layout;
    this.shape = config.shape();
    this.placement = config.placement();
    this.rules = rules;
    int rank = transport.rank();
    segments = new Segments(rank);
    router = new Router(shape, placement, rank);
    rounds = new Round[config.halves()];
    for (int half = 0; half < rounds.length; half++) {
      rounds[half] = new Round(half, shape, placement, rank);
    }
    Wait wait = new Wait(transport, config.idleStrategy(transport), config.timeout());
    boolean anyOrder = config.combineOrder() == CombineOrder.ANY_ORDER;
    dispatch =
        new Dispatch(
            transport, layout, placement, wait, counters, chunkRows(config, layout.messageBytes()));
    combine =
        new Combine(
            transport, layout, wait, counters, chunkRows(config, layout.rowBytes()), anyOrder);
    registrations = new Registrations(transport);
    views = new RowViews(transport, layout, config.guardedViews());
    nextEpoch = config.firstEpoch();
  }

  private static int chunkRows(ExchangeConfig config, long rowBytes) {
    long rows = Math.max(1, config.chunkBytes() / rowBytes);
    return (int) Math.min(rows, config.shape().tokens());
  }

  /**
   * Opens an exchange with its own buffer; collective: every rank of the group calls it, in the
   * same order where there are several exchanges on one group.
   *
   * @throws IllegalArgumentException if the configuration does not fit the group
   * @throws org.verbena.bootstrap.GroupException if ranks disagree on the configuration, or one
   *     could not get its buffer; thrown on all ranks, naming the rank and the reason
   */
  public static Exchange open(Group group, TransportProvider provider, ExchangeConfig config) {
    return open(group, provider, config, new CallRules());
  }

  static Exchange open(
      Group group, TransportProvider provider, ExchangeConfig config, CallRules rules) {
    if (group.size() != config.shape().ranks()) {
      throw new IllegalArgumentException(
          "rank %d: the exchange is for %d ranks, the group has %d"
              .formatted(group.rank(), config.shape().ranks(), group.size()));
    }
    LayoutOptions.Kind kind =
        provider.isDirect() ? LayoutOptions.Kind.SHARED : LayoutOptions.Kind.RDMA;
    BufferLayout layout = new BufferLayout(config.shape(), config.layoutOptions(kind));
    group.agree(config.agreement(layout, provider.name()));
    Transport transport = provider.open(group, layout.allocationBytes());
    LOG.log(
        System.Logger.Level.DEBUG,
        () ->
            "rank %d: exchange over %s, %,d bytes"
                .formatted(group.rank(), provider.name(), layout.allocationBytes()));
    try {
      return new Exchange(transport, layout, config, rules);
    } catch (Throwable t) {
      transport.close();
      throw t;
    }
  }

  /** This rank's number. */
  public int rank() {
    return transport.rank();
  }

  /** The shape that all ranks agreed on. */
  public ExchangeShape shape() {
    return shape;
  }

  /** Which rank owns which expert. */
  public ExpertPlacement placement() {
    return placement;
  }

  /** Where everything is in the buffer. */
  public BufferLayout layout() {
    return layout;
  }

  /** How bytes reach a rank, in words: for RDMA with device, GID and MTU. */
  public String path(int peer) {
    return transport.path(Objects.checkIndex(peer, shape.ranks()));
  }

  /** What was posted to the network so far; read it from the thread that calls the exchange. */
  public Traffic traffic() {
    return transport.traffic();
  }

  /** What this rank did so far; read it from the thread that calls the exchange. */
  public Counters counters() {
    return counters;
  }

  /**
   * Registers memory of the engine's, once, so that tokens and finished rows which lie in it as a
   * whole leave from where they are, without a copy into the exchange's own memory. The results are
   * the same; what is copied shows in {@link Counters#copiedBytes}. Ranks that share memory get
   * their one copy anyway, straight to where it arrives.
   *
   * <p>What a round sends from registered memory may be changed again when {@link #receiveCombine}
   * of that round is called for its results to be written, and has returned for all else. Expert
   * ids and weights may always be changed once their call has returned, and so may the experts'
   * output of {@link #sendCombine}, of which only the sums travel.
   *
   * <p>The memory must not be closed before it is {@linkplain #deregister deregistered}, or the
   * exchange is closed. It should begin and end on pages that hold nothing else.
   *
   * @param memory native, of 1 byte or more; it may be read-only
   * @throws IllegalArgumentException if a part of it is registered already
   */
  public void register(MemorySegment memory) {
    enter();
    try {
      segments.checkInput("register", "memory", memory, 1, 1);
      registrations.add(memory);
    } finally {
      leave();
    }
  }

  /**
   * Ends a registration; the memory may be closed then.
   *
   * @param memory as it was registered
   * @throws IllegalStateException if a round sends from it whose combine was not received
   */
  public void deregister(MemorySegment memory) {
    enter();
    try {
      Registration registration = registrations.get(memory);
      for (Round round : rounds) {
        if (round.phase != Round.Phase.FREE
            && (registration.equals(round.tokensInPlace.memory())
                || registration.equals(round.rowsInPlace.memory()))) {
          throw outOfOrder("deregister", round.epoch, "the round sends from it; end it first");
        }
      }
      registrations.remove(registration);
    } finally {
      leave();
    }
  }

  /**
   * Begins a round: sends each token to the ranks that own its experts, once to each. Waits only
   * until the network has let go of this rank's own earlier messages.
   *
   * @param tokens bf16 [n][H]
   * @param experts int32 [n][K], ids from 0 to E-1, or -1 for none; an id may appear twice, and
   *     then counts twice
   * @param weights float32 [n][K]; those of -1 are not read
   * @param n how many tokens, 0 to T; each rank and round as it likes
   * @return the round's epoch
   * @throws IllegalStateException if as many rounds as there are halves are in flight
   */
  public long sendDispatch(
      MemorySegment tokens, MemorySegment experts, MemorySegment weights, int n) {
    enter();
    try {
      String operation = "dispatch send";
      if (n < 0 || n > shape.tokens()) {
        throw new IllegalArgumentException(
            "rank %d: %s: %d tokens, the exchange was opened for 0 to %d"
                .formatted(rank(), operation, n, shape.tokens()));
      }
      segments.checkInput(operation, "tokens", tokens, 2L * n * shape.hidden(), 2);
      segments.checkInput(operation, "expert ids", experts, 4L * n * shape.topk(), 4);
      segments.checkInput(operation, "weights", weights, 4L * n * shape.topk(), 4);
      router.check(experts, n);
      long epoch = nextEpoch;
      Round round = free(epoch);
      Registration from = registrations.find(operation, tokens, 2L * n * shape.hidden());
      dispatch.awaitOwnWrites(round, epoch);
      if (epoch % Signal.FLAG_PERIOD < rounds.length) {
        combine.clearFlags(round);
      }
      router.route(round, experts, n);
      round.epoch = epoch;
      round.tokensInPlace.set(from, tokens.address());
      round.rowsInPlace.set(null, 0);
      sending = true;
      dispatch.send(round, tokens, experts, weights);
      sending = false;
      round.phase = Round.Phase.DISPATCH_SENT;
      nextEpoch++;
      return epoch;
    } catch (PeerException e) {
      throw failed("dispatch send", nextEpoch, e);
    } finally {
      leave();
    }
  }

  private Round free(long epoch) {
    Round round = rounds[layout.half(epoch)];
    if (!rules.isFree(round.phase)) {
      throw new IllegalStateException(
          "rank %d: dispatch send of epoch %d: epoch %d is not over (%s), and %d may be in flight;"
                  .formatted(rank(), epoch, round.epoch, round.phase, rounds.length)
              + " receive its combine first");
    }
    return round;
  }

  /**
   * Whether {@link #receiveDispatch} would not have to wait. Does not block. It does not notice
   * that a peer is dead; the receiving call does.
   */
  public boolean isDispatchReady(long epoch) {
    enter();
    try {
      Round round = round("dispatch readiness", epoch, Round.Phase.DISPATCH_SENT);
      transport.progress();
      return dispatch.isReady(round);
    } catch (PeerException e) {
      throw failed("dispatch readiness", epoch, e);
    } catch (ExchangeException e) {
      throw failed(e);
    } finally {
      leave();
    }
  }

  /**
   * Waits for the rows of all ranks, and binds an object to them.
   *
   * @param rows the caller's object, bound until this round's combine is sent
   * @return the same object
   * @throws IllegalStateException if the combine of the round before was not sent
   */
  public ReceivedRows receiveDispatch(long epoch, ReceivedRows rows) {
    enter();
    try {
      String operation = "dispatch receive";
      Round round = round(operation, epoch, Round.Phase.DISPATCH_SENT);
      Round before = rounds[layout.half(epoch - 1)];
      if (before.epoch == epoch - 1 && !rules.mayReceiveDispatch(before.phase)) {
        throw outOfOrder(operation, epoch, "send the combine of epoch " + (epoch - 1) + " first");
      }
      dispatch.receive(round);
      round.phase = Round.Phase.DISPATCH_RECEIVED;
      rows.bind(this, round);
      return rows;
    } catch (PeerException e) {
      throw failed("dispatch receive", epoch, e);
    } catch (ExchangeException e) {
      throw failed(e);
    } finally {
      leave();
    }
  }

  /**
   * Hands the experts' output over: the library weights and adds up each row's entries and sends
   * the sums back. The received rows of this round end here.
   *
   * @param output bf16 [entries][H], a row for each entry of {@link ReceivedRows}, in their order
   */
  public void sendCombine(long epoch, MemorySegment output) {
    enter();
    try {
      String operation = "combine send";
      Round round = round(operation, epoch, Round.Phase.DISPATCH_RECEIVED);
      long bytes = 2L * round.index.entries() * shape.hidden();
      segments.checkInput(operation, "expert output", output, bytes, 2);
      endRows(round, operation, "expert output", output, bytes);
      sending = true;
      combine.sendSums(round, output);
      sending = false;
      round.phase = Round.Phase.COMBINE_SENT;
    } catch (PeerException e) {
      throw failed("combine send", epoch, e);
    } finally {
      leave();
    }
  }

  /**
   * Hands finished rows over, each already weighted and summed over its entries: they go back as
   * they are. The received rows of this round end here.
   *
   * @param rows bf16 [rows][H], a row for each of {@link ReceivedRows}, in their order; registered
   *     rows leave from where they are
   */
  public void sendFinished(long epoch, MemorySegment rows) {
    enter();
    try {
      String operation = "combine send";
      Round round = round(operation, epoch, Round.Phase.DISPATCH_RECEIVED);
      long bytes = 2L * round.index.rows() * shape.hidden();
      segments.checkInput(operation, "finished rows", rows, bytes, 2);
      Registration from = registrations.find(operation, rows, bytes);
      endRows(round, operation, "finished rows", rows, bytes);
      round.rowsInPlace.set(from, rows.address());
      sending = true;
      combine.sendRows(round, rows);
      sending = false;
      round.phase = Round.Phase.COMBINE_SENT;
    } catch (PeerException e) {
      throw failed("combine send", epoch, e);
    } finally {
      leave();
    }
  }

  /**
   * Begins a combine in place: binds an object to the memory from which the rows go back, for the
   * engine to write finished rows into. The received rows stay valid until {@link #finishCombine}.
   *
   * @param rows the caller's object, bound until the combine is finished
   * @return the same object
   */
  public OutgoingRows beginCombine(long epoch, OutgoingRows rows) {
    enter();
    try {
      Round round = round("combine begin", epoch, Round.Phase.DISPATCH_RECEIVED);
      combine.begin(round);
      round.phase = Round.Phase.COMBINE_BEGUN;
      rows.bind(this, round);
      return rows;
    } catch (PeerException e) {
      throw failed("combine begin", epoch, e);
    } finally {
      leave();
    }
  }

  /** Finishes a combine in place: all rows are written; sends those that were not sent yet. */
  public void finishCombine(long epoch) {
    enter();
    try {
      String operation = "combine finish";
      Round round = round(operation, epoch, Round.Phase.COMBINE_BEGUN);
      revoke(operation, round);
      sending = true;
      combine.finish(round);
      sending = false;
      round.phase = Round.Phase.COMBINE_SENT;
    } catch (PeerException e) {
      throw failed("combine finish", epoch, e);
    } finally {
      leave();
    }
  }

  /** Whether {@link #receiveCombine} would not have to wait; see {@link #isDispatchReady}. */
  public boolean isCombineReady(long epoch) {
    enter();
    try {
      Round round = round("combine readiness", epoch, Round.Phase.COMBINE_SENT);
      transport.progress();
      return combine.isReady(round);
    } catch (PeerException e) {
      throw failed("combine readiness", epoch, e);
    } catch (ExchangeException e) {
      throw failed(e);
    } finally {
      leave();
    }
  }

  /**
   * Waits for the rows of all ranks and adds them up. Ends the round.
   *
   * @param out bf16 [n][H], n as in this round's dispatch; written completely
   */
  public void receiveCombine(long epoch, MemorySegment out) {
    enter();
    try {
      String operation = "combine receive";
      Round round = round(operation, epoch, Round.Phase.COMBINE_SENT);
      long bytes = 2L * round.tokenCount * shape.hidden();
      segments.checkOutput(operation, "results", out, bytes, 2);
      combine.receive(round, out);
      round.phase = Round.Phase.FREE;
    } catch (PeerException e) {
      throw failed("combine receive", epoch, e);
    } catch (ExchangeException e) {
      throw failed(e);
    } finally {
      leave();
    }
  }

  /**
   * Leaves the exchange in order and gives its buffer back. Others that wait for a later round
   * learn that this rank closed; what it sent still arrives. Closing again does nothing.
   *
   * @throws IllegalStateException if another thread is in a call, or in a native call that uses
   *     rows; close again once it has returned
   */
  @Override
  public void close() {
    if (!BUSY.compareAndSet(this, false, true)) {
      throw new IllegalStateException(
          "rank %d: close: another thread is in a call of this exchange".formatted(rank()));
    }
    try {
      if (!closed) {
        for (int half = 0; half < rounds.length; half++) {
          views.revoke(half);
          rounds[half].phase = Round.Phase.FREE;
        }
        closed = true;
      }
      transport.close();
    } catch (IllegalStateException e) {
      throw new IllegalStateException(
          "rank %d: close: a native call of another thread uses rows; close again once it has returned"
              .formatted(rank()),
          e);
    } finally {
      leave();
    }
  }

  MemorySegment receivedMemory(Round round) {
    return views.received(round.half);
  }

  MemorySegment receivedView(Round round) {
    return views.receivedGuarded(round.half);
  }

  long receivedOffset(Round round, int row) {
    int source = round.index.source(row);
    int slot = row - round.index.firstRow(source);
    return layout.dispatchReceive(round.half, source, slot)
        - layout.dispatchReceive(round.half, 0, 0);
  }

  MemorySegment outgoingView(Round round, int source) {
    return views.outgoingGuarded(round.half, source);
  }

  long outgoingOffset(int slot) {
    return slot * layout.rowBytes();
  }

  void completeRow(Round round, int row) {
    enter();
    try {
      ExpertIndex index = round.index;
      int source = index.source(Objects.checkIndex(row, index.rows()));
      combine.complete(round, source, row - index.firstRow(source));
    } catch (PeerException e) {
      throw failed("combine send", round.epoch, e);
    } finally {
      leave();
    }
  }

  /** Ends the received rows, of which what is sent may have been a view. */
  private void endRows(Round round, String operation, String what, MemorySegment sent, long bytes) {
    combine.begin(round);
    revoke(operation, round);
    segments.checkInput(operation, what, sent, bytes, 2);
  }

  private void revoke(String operation, Round round) {
    try {
      views.revoke(round.half);
    } catch (IllegalStateException _) {
      throw outOfOrder(
          operation,
          round.epoch,
          "a native call of another thread uses rows of this round; call again once it has returned");
    }
  }

  private Round round(String operation, long epoch, Round.Phase phase) {
    Round round = rounds[layout.half(epoch)];
    if (round.epoch != epoch || round.phase == Round.Phase.FREE) {
      throw outOfOrder(operation, epoch, "this round is not in flight; the next is " + nextEpoch);
    }
    if (round.phase != phase) {
      throw outOfOrder(operation, epoch, "the round is at " + round.phase + ", not " + phase);
    }
    return round;
  }

  private IllegalStateException outOfOrder(String operation, long epoch, String why) {
    return new IllegalStateException(
        "rank %d: %s of epoch %d: %s".formatted(rank(), operation, epoch, why));
  }

  private void enter() {
    if (!BUSY.compareAndSet(this, false, true)) {
      throw new IllegalStateException(
          "rank %d: another thread is in a call of this exchange; one at a time".formatted(rank()));
    }
    if (closed || failure != null) {
      leave();
      throw new IllegalStateException(
          "rank %d: this exchange %s".formatted(rank(), closed ? "is closed" : "has failed"),
          failure);
    }
  }

  private void leave() {
    if (sending) {
      // Some peers were told of rows and others were not: nothing can be sent again.
      sending = false;
      failure =
          failure != null
              ? failure
              : new IllegalStateException(
                  "rank %d: sending ended half-way, see the exception thrown then"
                      .formatted(rank()));
      transport.fail(rank());
    }
    BUSY.setRelease(this, false);
  }

  private PeerException failed(String operation, long epoch, PeerException e) {
    transport.fail(e.peer());
    PeerException told = e;
    String message = String.valueOf(e.getMessage());
    if (e.bytes() > 0 || !e.isOfRound()) {
      String where = e.bytes() > 0 ? layout.describe(e.offset(), e.bytes()) + ": " : "";
      told =
          new PeerException(
              e.peer(),
              "rank %d: %s of epoch %d: %s%s".formatted(rank(), operation, epoch, where, message));
      told.initCause(e);
    }
    failure = told;
    return told;
  }

  private ExchangeException failed(ExchangeException e) {
    failure = e;
    transport.fail(e.peer());
    return e;
  }
}
