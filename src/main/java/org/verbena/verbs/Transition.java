package org.verbena.verbs;

import static org.verbena.verbs.QueuePairAttributes.Name.ACCESS;
import static org.verbena.verbs.QueuePairAttributes.Name.ADDRESS;
import static org.verbena.verbs.QueuePairAttributes.Name.DESTINATION;
import static org.verbena.verbs.QueuePairAttributes.Name.INITIATOR_READS;
import static org.verbena.verbs.QueuePairAttributes.Name.MIN_RNR_TIMER;
import static org.verbena.verbs.QueuePairAttributes.Name.PATH_MTU;
import static org.verbena.verbs.QueuePairAttributes.Name.PKEY_INDEX;
import static org.verbena.verbs.QueuePairAttributes.Name.PORT;
import static org.verbena.verbs.QueuePairAttributes.Name.QKEY;
import static org.verbena.verbs.QueuePairAttributes.Name.RECEIVE_SEQUENCE;
import static org.verbena.verbs.QueuePairAttributes.Name.RESPONDER_READS;
import static org.verbena.verbs.QueuePairAttributes.Name.RETRY_COUNT;
import static org.verbena.verbs.QueuePairAttributes.Name.RNR_RETRY;
import static org.verbena.verbs.QueuePairAttributes.Name.SEND_SEQUENCE;
import static org.verbena.verbs.QueuePairAttributes.Name.TIMEOUT;
import static org.verbena.verbs.QueuePairState.ERR;
import static org.verbena.verbs.QueuePairState.INIT;
import static org.verbena.verbs.QueuePairState.RESET;
import static org.verbena.verbs.QueuePairState.RTR;
import static org.verbena.verbs.QueuePairState.RTS;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.verbena.verbs.QueuePairAttributes.Name;

/**
 * A step of a queue pair, and what goes with it, after ibv_modify_qp(3). From everywhere a queue
 * pair may go to RESET and ERR, with nothing but the state; a step from RESET to RESET is left out,
 * as some devices refuse it.
 */
record Transition(QueuePairState from, QueuePairState to, Set<Name> required, Set<Name> optional) {
  private static final Set<Name> NONE = EnumSet.noneOf(Name.class);

  private static final List<Transition> CONNECTED =
      List.of(
          new Transition(RESET, INIT, EnumSet.of(PKEY_INDEX, PORT, ACCESS), NONE),
          new Transition(INIT, INIT, NONE, EnumSet.of(PKEY_INDEX, PORT, ACCESS)),
          new Transition(
              INIT,
              RTR,
              EnumSet.of(
                  ADDRESS, PATH_MTU, DESTINATION, RECEIVE_SEQUENCE, RESPONDER_READS, MIN_RNR_TIMER),
              EnumSet.of(PKEY_INDEX, ACCESS)),
          new Transition(
              RTR,
              RTS,
              EnumSet.of(TIMEOUT, RETRY_COUNT, RNR_RETRY, SEND_SEQUENCE, INITIATOR_READS),
              EnumSet.of(ACCESS, MIN_RNR_TIMER)),
          new Transition(RTS, RTS, NONE, EnumSet.of(ACCESS, MIN_RNR_TIMER)));

  private static final List<Transition> DATAGRAM =
      List.of(
          new Transition(RESET, INIT, EnumSet.of(PKEY_INDEX, PORT, QKEY), NONE),
          new Transition(INIT, INIT, NONE, EnumSet.of(PKEY_INDEX, PORT, QKEY)),
          new Transition(INIT, RTR, NONE, EnumSet.of(PKEY_INDEX, QKEY)),
          new Transition(RTR, RTS, EnumSet.of(SEND_SEQUENCE), EnumSet.of(QKEY)),
          new Transition(RTS, RTS, NONE, EnumSet.of(QKEY)));

  /**
   * Refuses a step that does not exist, or does not go with {@code given}.
   *
   * @param pair the queue pair, for its kind and the message
   */
  static void check(QueuePair pair, QueuePairState from, QueuePairState to, Set<Name> given) {
    List<Transition> between = pair.isDatagram() ? DATAGRAM : CONNECTED;
    Transition step = find(between, from, to);
    if (step == null) {
      throw new IllegalStateException(
          "%s cannot go from %s to %s: from %s it goes to %s"
              .formatted(pair, from, to, from, targets(between, from)));
    }
    Set<Name> missing = EnumSet.copyOf(step.required);
    missing.removeAll(given);
    Set<Name> wrong = given.isEmpty() ? EnumSet.noneOf(Name.class) : EnumSet.copyOf(given);
    wrong.removeAll(step.required);
    wrong.removeAll(step.optional);
    if (!missing.isEmpty() || !wrong.isEmpty()) {
      throw new IllegalArgumentException(
          "%s cannot go from %s to %s so: missing %s, not belonging %s"
              .formatted(pair, from, to, missing, wrong));
    }
  }

  private static @Nullable Transition find(
      List<Transition> between, QueuePairState from, QueuePairState to) {
    if (from != RESET && (to == RESET || to == ERR)) {
      return new Transition(from, to, NONE, NONE);
    }
    return between.stream()
        .filter(step -> step.from == from && step.to == to)
        .findFirst()
        .orElse(null);
  }

  private static List<QueuePairState> targets(List<Transition> between, QueuePairState from) {
    List<QueuePairState> targets = new ArrayList<>();
    for (QueuePairState to : QueuePairState.values()) {
      if (find(between, from, to) != null) {
        targets.add(to);
      }
    }
    return targets;
  }
}
