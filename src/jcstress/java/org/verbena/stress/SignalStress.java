package org.verbena.stress;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;
import org.openjdk.jcstress.infra.results.I_Result;
import org.verbena.moe.SignalWords;

/**
 * The signal words between two threads that each map the windows on their own, as two processes do:
 * rank 0 stores through the transport what it stores in a round, rank 1 looks as an exchange does.
 */
public class SignalStress {
  private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
  private static final VarHandle INT = ValueLayout.JAVA_INT.varHandle();
  private static final long EPOCH = 7;
  private static final int NOTHING = -1;

  /** Offsets in a slot: words on lines of their own. */
  private static final int WORD = 64;

  private static final int OTHER_ROW = 128;

  private SignalStress() {}

  private static void write(long offset, int value) {
    SharedSlots.SENDER.stage(1).set(ValueLayout.JAVA_INT, offset, value);
  }

  private static int read(long offset) {
    return SharedSlots.RECEIVER.window().get(ValueLayout.JAVA_INT, offset);
  }

  private static long word(long offset) {
    return (long) LONG.getAcquire(SharedSlots.RECEIVER.window(), offset);
  }

  /** Who sees the count sees the rows. */
  @JCStressTest
  @State
  @Outcome(id = "-1, -1", expect = ACCEPTABLE, desc = "nothing has arrived")
  @Outcome(id = "1, 42", expect = ACCEPTABLE, desc = "one row, and it is there")
  @Outcome(expect = FORBIDDEN, desc = "a count without its row")
  public static class DispatchCount {
    private final long slot = SharedSlots.next();

    @Actor
    public void send() {
      write(slot, 42);
      SharedSlots.SENDER.signalRelease(1, slot + WORD, SignalWords.dispatched(EPOCH, 1));
    }

    @Actor
    public void receive(II_Result result) {
      long word = word(slot + WORD);
      boolean arrived = SignalWords.isOf(EPOCH, word);
      result.r1 = arrived ? SignalWords.rows(word) : NOTHING;
      result.r2 = arrived ? read(slot) : NOTHING;
    }
  }

  /** A word changes as a whole: never the epoch of one round with the count of another. */
  @JCStressTest
  @State
  @Outcome(id = "5, 9", expect = ACCEPTABLE, desc = "the word of the round before last")
  @Outcome(id = "7, 1", expect = ACCEPTABLE, desc = "the word of this round")
  @Outcome(expect = FORBIDDEN, desc = "a word in parts")
  public static class WholeWord {
    private final long slot = SharedSlots.next();

    public WholeWord() {
      SharedSlots.SENDER.signalRelease(1, slot + WORD, SignalWords.dispatched(EPOCH - 2, 9));
    }

    @Actor
    public void send() {
      SharedSlots.SENDER.signalRelease(1, slot + WORD, SignalWords.dispatched(EPOCH, 1));
    }

    @Actor
    public void receive(II_Result result) {
      long word = word(slot + WORD);
      result.r1 = (int) (word >>> 32);
      result.r2 = SignalWords.rows(word);
    }
  }

  /** As many rows are there as the word says; the closing word says it of all. */
  @JCStressTest
  @State
  @Outcome(id = "-1, -1", expect = ACCEPTABLE, desc = "nothing has arrived")
  @Outcome(id = "1, 41", expect = ACCEPTABLE, desc = "the first row")
  @Outcome(id = "2, 83", expect = ACCEPTABLE, desc = "closed, with both rows")
  @Outcome(expect = FORBIDDEN, desc = "a row is missing")
  public static class CombineProgress {
    private final long slot = SharedSlots.next();

    @Actor
    public void send() {
      write(slot, 41);
      SharedSlots.SENDER.signalRelease(1, slot + WORD, SignalWords.progress(EPOCH, 1));
      write(slot + OTHER_ROW, 42);
      SharedSlots.SENDER.signalRelease(1, slot + WORD, SignalWords.closing(EPOCH, 2));
    }

    @Actor
    public void receive(II_Result result) {
      long word = word(slot + WORD);
      boolean arrived = SignalWords.isOf(EPOCH, word);
      result.r1 = arrived ? SignalWords.rows(word) : NOTHING;
      result.r2 = arrived ? read(slot) : NOTHING;
      if (SignalWords.isClosing(word)) {
        result.r2 += read(slot + OTHER_ROW);
      }
    }
  }

  /** Who sees a row's flag sees the row. */
  @JCStressTest
  @State
  @Outcome(id = "-1", expect = ACCEPTABLE, desc = "the row has not arrived")
  @Outcome(id = "42", expect = ACCEPTABLE, desc = "the row has arrived")
  @Outcome(expect = FORBIDDEN, desc = "a flag without its row")
  public static class CombineFlag {
    private final long slot = SharedSlots.next();

    public CombineFlag() {
      SharedSlots.SENDER.signalIntRelease(1, slot + WORD, SignalWords.flag(EPOCH - 2));
    }

    @Actor
    public void send() {
      write(slot, 42);
      SharedSlots.SENDER.signalIntRelease(1, slot + WORD, SignalWords.flag(EPOCH));
    }

    @Actor
    public void receive(I_Result result) {
      int flag = (int) INT.getAcquire(SharedSlots.RECEIVER.window(), slot + WORD);
      result.r1 = flag == SignalWords.flag(EPOCH) ? read(slot) : NOTHING;
    }
  }

  /** A row is read before the signal that frees its place, and the next one written after it. */
  @JCStressTest
  @State
  @Outcome(id = "42, 0", expect = ACCEPTABLE, desc = "the place is not free yet")
  @Outcome(id = "42, 1", expect = ACCEPTABLE, desc = "free, and used again")
  @Outcome(expect = FORBIDDEN, desc = "the row was overwritten before it was read")
  public static class Reuse {
    private final long slot = SharedSlots.next();

    public Reuse() {
      write(slot, 42);
    }

    @Actor
    public void receive(II_Result result) {
      result.r1 = read(slot);
      SharedSlots.RECEIVER.signalRelease(0, slot + WORD, SignalWords.closing(EPOCH, 0));
    }

    @Actor
    public void send(II_Result result) {
      long word = (long) LONG.getAcquire(SharedSlots.SENDER.window(), slot + WORD);
      boolean free = SignalWords.isOf(EPOCH, word) && SignalWords.isClosing(word);
      if (free) {
        write(slot, 43);
      }
      result.r2 = free ? 1 : 0;
    }
  }
}
