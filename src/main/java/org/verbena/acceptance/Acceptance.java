package org.verbena.acceptance;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.IntBinaryOperator;
import org.jspecify.annotations.Nullable;
import org.verbena.acceptance.Sample.Content;
import org.verbena.layout.ExchangeShape;
import org.verbena.moe.Exchange;
import org.verbena.moe.OutgoingRows;
import org.verbena.moe.ReceivedRows;

/**
 * One rank's part in the acceptance of an exchange. Rounds alternate between two inputs, so that
 * the same input comes again, in both halves' turn, and must give the same bits again.
 *
 * <p>One thread at a time; all ranks make the same calls.
 */
public final class Acceptance implements AutoCloseable {
  /** How a round's results go back. */
  public enum CombineWay {
    /** The library adds up what the experts put out. */
    HANDED_OVER,
    /** This rank adds up and writes rows where they leave from, first to last. */
    IN_PLACE,
    /** The same, last to first; for exchanges whose rows come back in any order. */
    IN_PLACE_BACKWARDS
  }

  /** In which order the phases of two rounds are called. */
  public enum PhaseOrder {
    /** One round after the other. */
    SEQUENTIAL,
    /** The next dispatch is sent before this combine. */
    DISPATCH_AHEAD,
    /** This combine is received after the next dispatch. */
    COMBINE_BEHIND
  }

  /** The phases that are timed, in their order. */
  public enum Phase {
    DISPATCH_SEND,
    DISPATCH_RECEIVE,
    COMBINE_SEND,
    COMBINE_RECEIVE
  }

  private static final int INPUTS = 2;

  private final Exchange exchange;
  private final ExchangeShape shape;
  private final boolean scaled;
  private final Arena arena = Arena.ofShared();
  private final Input[] inputs = new Input[INPUTS];
  private final MemorySegment results;
  private MemorySegment output = MemorySegment.NULL;
  private long verifiedValues;
  private final ReceivedRows rows = new ReceivedRows();
  private final OutgoingRows outgoing = new OutgoingRows();

  /** What goes in on this rank, and what must come out. */
  private static final class Input {
    private final int count;
    private final MemorySegment tokens;
    private final MemorySegment experts;
    private final MemorySegment weights;
    private final Reference reference;
    private @Nullable MemorySegment checked;

    Input(Arena arena, Sample own, Reference reference) {
      this.count = own.count;
      this.tokens = copy(arena, MemorySegment.ofArray(own.tokens));
      this.experts = copy(arena, MemorySegment.ofArray(own.experts));
      this.weights = copy(arena, MemorySegment.ofArray(own.weights));
      this.reference = reference;
    }

    private static MemorySegment copy(Arena arena, MemorySegment array) {
      return arena.allocate(Math.max(array.byteSize(), 1), 64).copyFrom(array);
    }
  }

  /**
   * Makes the inputs of all ranks.
   *
   * @param tokens how many tokens a rank has in input 0 and 1: a function of rank and input, the
   *     same on all ranks
   * @param scaled whether expert e multiplies by 1 + (e mod 7)/8, or is the identity
   * @param seed of all that is random, the same on all ranks
   */
  public Acceptance(Exchange exchange, IntBinaryOperator tokens, boolean scaled, long seed) {
    this(exchange, contiguous(exchange.shape()), tokens, scaled, seed);
  }

  /**
   * The same where experts are not in contiguous blocks.
   *
   * @param owners for each expert the rank that owns it
   */
  public Acceptance(
      Exchange exchange, int[] owners, IntBinaryOperator tokens, boolean scaled, long seed) {
    this.exchange = exchange;
    this.shape = exchange.shape();
    this.scaled = scaled;
    for (int i = 0; i < INPUTS; i++) {
      Sample[] samples = new Sample[shape.ranks()];
      Content content = i == 0 ? Content.RECOGNISABLE : Content.NOISE;
      for (int rank = 0; rank < samples.length; rank++) {
        int count = tokens.applyAsInt(rank, i);
        samples[rank] = Sample.of(shape, rank, count, content, seed + i);
      }
      Reference reference = new Reference(shape, owners, exchange.rank(), samples);
      inputs[i] = new Input(arena, samples[exchange.rank()], reference);
    }
    results = arena.allocate(2L * shape.tokens() * shape.hidden(), 64);
  }

  /** The definition of contiguous blocks, written once more. */
  private static int[] contiguous(ExchangeShape shape) {
    int[] owners = new int[shape.experts()];
    int large = owners.length % shape.ranks();
    int size = owners.length / shape.ranks();
    for (int expert = 0; expert < owners.length; expert++) {
      boolean inLarge = expert < large * (size + 1);
      owners[expert] = inLarge ? expert / (size + 1) : large + (expert - large * (size + 1)) / size;
    }
    return owners;
  }

  /** Runs rounds, each verified. */
  public void run(int rounds, PhaseOrder order, CombineWay way, PhaseListener listener) {
    long ahead = -1;
    long behind = -1;
    for (int round = 0; round < rounds; round++) {
      long epoch = ahead >= 0 ? ahead : sendDispatch(round, listener);
      receiveDispatch(round, epoch, listener);
      if (behind >= 0) {
        receiveCombine(round - 1, behind, listener);
        behind = -1;
      }
      boolean last = round == rounds - 1;
      ahead = order == PhaseOrder.DISPATCH_AHEAD && !last ? sendDispatch(round + 1, listener) : -1;
      sendCombine(round, epoch, way, listener);
      if (order == PhaseOrder.COMBINE_BEHIND && !last) {
        behind = epoch;
      } else {
        receiveCombine(round, epoch, listener);
      }
    }
  }

  /** How many values were compared: those of received rows, and those of results. */
  public long verifiedValues() {
    return verifiedValues;
  }

  /** Told when a phase is over and what came of it is verified. */
  @FunctionalInterface
  public interface PhaseListener {
    /** A phase of a round, counted from 0, took so many nanoseconds. */
    void took(int round, Phase phase, long nanos);
  }

  private long sendDispatch(int round, PhaseListener listener) {
    Input input = input(round);
    long start = System.nanoTime();
    long epoch = exchange.sendDispatch(input.tokens, input.experts, input.weights, input.count);
    listener.took(round, Phase.DISPATCH_SEND, System.nanoTime() - start);
    return epoch;
  }

  private void receiveDispatch(int round, long epoch, PhaseListener listener) {
    long start = System.nanoTime();
    exchange.receiveDispatch(epoch, rows);
    long nanos = System.nanoTime() - start;
    input(round).reference.checkReceived(rows);
    verifiedValues += (long) rows.rows() * shape.hidden();
    listener.took(round, Phase.DISPATCH_RECEIVE, nanos);
  }

  private void sendCombine(int round, long epoch, CombineWay way, PhaseListener listener) {
    runExperts();
    if (way == CombineWay.HANDED_OVER) {
      long start = System.nanoTime();
      exchange.sendCombine(epoch, output);
      listener.took(round, Phase.COMBINE_SEND, System.nanoTime() - start);
    } else {
      exchange.beginCombine(epoch, outgoing);
      writeRows(way == CombineWay.IN_PLACE_BACKWARDS);
      long start = System.nanoTime();
      exchange.finishCombine(epoch);
      listener.took(round, Phase.COMBINE_SEND, System.nanoTime() - start);
    }
  }

  /** Writes all rows, and completes about half of them at once. */
  private void writeRows(boolean backwards) {
    int count = rows.rows();
    for (int i = 0; i < count; i++) {
      int row = backwards ? count - 1 - i : i;
      int source = rows.source(row);
      writeRow(row, outgoing.memory(source), outgoing.offset(row));
      boolean early = row - rows.firstRow(source) <= rows.rows(source) / 2;
      if (early) {
        outgoing.complete(row);
      }
    }
  }

  private void writeRow(int row, MemorySegment memory, long offset) {
    for (int column = 0; column < shape.hidden(); column++) {
      float sum = 0;
      for (int i = 0; i < rows.entriesOfRow(row); i++) {
        int entry = rows.entryOfRow(row, i);
        long at = (long) entry * shape.hidden() + column;
        float value = Sample.number(output.getAtIndex(ValueLayout.JAVA_SHORT, at));
        sum = Math.fma(rows.entryWeight(entry), value, sum);
      }
      memory.set(ValueLayout.JAVA_SHORT, offset + 2L * column, Sample.nearest(sum));
    }
  }

  private void runExperts() {
    long needed = Math.max(2L * rows.entries() * shape.hidden(), 1);
    if (output.byteSize() < needed) {
      output = Arena.ofAuto().allocate(needed, 64);
    }
    for (int local = 0; local < rows.experts(); local++) {
      long at = 2L * rows.firstEntry(local) * shape.hidden();
      long bytes = rows.gather(local, output, at);
      if (scaled) {
        float factor = Reference.factor(rows.expertId(local));
        for (long i = at / 2; i < (at + bytes) / 2; i++) {
          float value = Sample.number(output.getAtIndex(ValueLayout.JAVA_SHORT, i));
          output.setAtIndex(ValueLayout.JAVA_SHORT, i, Sample.nearest(value * factor));
        }
      }
    }
  }

  private void receiveCombine(int round, long epoch, PhaseListener listener) {
    Input input = input(round);
    long start = System.nanoTime();
    exchange.receiveCombine(epoch, results);
    long nanos = System.nanoTime() - start;
    MemorySegment found = results.asSlice(0, 2L * input.count * shape.hidden());
    if (input.checked == null) {
      input.reference.checkResults(found, scaled);
      input.checked = arena.allocate(Math.max(found.byteSize(), 1), 64).copyFrom(found);
    } else {
      checkSame(round, input.checked, found);
    }
    verifiedValues += (long) input.count * shape.hidden();
    listener.took(round, Phase.COMBINE_RECEIVE, nanos);
  }

  /** The results were checked before; what the same input gives is the same to the bit. */
  private void checkSame(int round, MemorySegment checked, MemorySegment found) {
    long at = MemorySegment.mismatch(checked, 0, found.byteSize(), found, 0, found.byteSize());
    if (at >= 0) {
      long token = at / 2 / shape.hidden();
      long column = at / 2 % shape.hidden();
      throw new WrongValueException(
          "rank %d: combine of round %d: token %d, column %d: expected %s as before, found %s"
              .formatted(
                  exchange.rank(),
                  round,
                  token,
                  column,
                  Sample.number(checked.getAtIndex(ValueLayout.JAVA_SHORT, at / 2)),
                  Sample.number(found.getAtIndex(ValueLayout.JAVA_SHORT, at / 2))));
    }
  }

  private Input input(int round) {
    return inputs[round % INPUTS];
  }

  @Override
  public void close() {
    arena.close();
  }
}
