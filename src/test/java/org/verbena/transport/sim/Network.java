package org.verbena.transport.sim;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.verbena.transport.sim.Message.Kind;

/**
 * What lies between the ranks of a group that share one thread. A message waits until it is {@link
 * #deliver}ed; a write reads its memory only then, and tells its sender later still, when it is
 * {@link #complete}d. Messages between two ranks keep their order, all others have none.
 *
 * <p>These rules are checked throughout, and a broken one is reported by a {@link
 * ProtocolViolation}:
 *
 * <ul>
 *   <li>What is posted never shares memory at its target with a message that is not yet {@linkplain
 *       #take taken} there, be that one under way or arrived. As what is under way can arrive at
 *       any time, this finds what would be overwritten in any order of arrival at all.
 *   <li>The memory that a write leaves from stays as it is until the write is complete.
 *   <li>A signal that has arrived stays as it is until it is taken, or brought up to date by its
 *       sender.
 * </ul>
 */
public final class Network implements AutoCloseable {
  private final Arena arena = Arena.ofConfined();
  private final int ranks;
  private final MemorySegment[] windows;
  private final Channel[] channels;
  private final List<List<Message>> untaken = new ArrayList<>();
  private Kind kind = Kind.DISPATCH;
  private long epoch;
  private @Nullable Channel awaited;
  private long awaitedTicket;

  public Network(int ranks, long windowBytes) {
    this.ranks = ranks;
    windows = new MemorySegment[ranks];
    channels = new Channel[ranks * ranks];
    for (int i = 0; i < channels.length; i++) {
      channels[i] = new Channel();
    }
    for (int rank = 0; rank < ranks; rank++) {
      windows[rank] = arena.allocate(windowBytes, 4096);
      untaken.add(new ArrayList<>());
    }
  }

  public int ranks() {
    return ranks;
  }

  public MemorySegment window(int rank) {
    return windows[rank];
  }

  /** Says what is going to be posted. */
  public void expect(Kind kind, long epoch) {
    this.kind = kind;
    this.epoch = epoch;
  }

  long write(int source, int target, long offset, long localOffset, long bytes) {
    MemorySegment local = windows[source].asSlice(localOffset, bytes);
    return post(Message.write(source, target, kind, epoch, offset, local));
  }

  void signal(int source, int target, long offset, int bytes, long value) {
    post(Message.signal(source, target, kind, epoch, offset, bytes, value));
  }

  private long post(Message message) {
    List<Message> others = untaken.get(message.target);
    for (int i = 0; i < others.size(); i++) {
      Message other = others.get(i);
      if (message.overlaps(other) && !message.updates(other)) {
        throw new ProtocolViolation(message + " may overwrite " + other + ", which is not taken");
      }
    }
    others.add(message);
    return channel(message.source, message.target).post(message);
  }

  boolean isComplete(int source, int target, long ticket) {
    Channel channel = channel(source, target);
    boolean complete = channel.isComplete(ticket);
    if (!complete) {
      awaited = channel;
      awaitedTicket = ticket;
    }
    return complete;
  }

  /** Whether anything is under way from one rank to another. */
  public boolean canDeliver(int source, int target) {
    return !channel(source, target).travelling().isEmpty();
  }

  /** Lets the next message arrive. */
  public void deliver(int source, int target) {
    deliver(channel(source, target));
  }

  private void deliver(Channel channel) {
    Message message = channel.travelling().remove();
    message.arrive(windows[message.target]);
    untaken
        .get(message.target)
        .removeIf(other -> other != message && other.hasArrived() && message.updates(other));
  }

  /** Lets a message arrive, and all before it. */
  public void deliver(Message message) {
    while (!message.hasArrived()) {
      deliver(message.source, message.target);
    }
  }

  /** Whether a write has arrived and its sender does not know yet. */
  public boolean canComplete(int source, int target) {
    return channel(source, target).canComplete();
  }

  /** Tells a sender that its oldest write is complete. */
  public void complete(int source, int target) {
    Channel channel = channel(source, target);
    channel.incomplete().element().checkLocal();
    channel.complete();
  }

  /** Lets the write arrive and complete of which a rank has just been told that it is not. */
  public void completeAwaited() {
    Channel channel = awaited;
    if (channel == null) {
      throw new ProtocolViolation("a rank waits, and not for a write of its own");
    }
    while (!channel.isComplete(awaitedTicket)) {
      if (channel.canComplete()) {
        channel.complete();
      } else {
        deliver(channel);
      }
    }
    awaited = null;
  }

  /** Lets everything arrive and complete. */
  public void settle() {
    for (Channel channel : channels) {
      while (!channel.travelling().isEmpty()) {
        deliver(channel);
      }
      while (channel.canComplete()) {
        channel.complete();
      }
    }
  }

  /**
   * Checks that a rank has touched neither the memory that its writes leave from, nor a signal that
   * has arrived and is not taken.
   */
  public void checkMemory(int rank) {
    for (int target = 0; target < ranks; target++) {
      channel(rank, target).incomplete().forEach(Message::checkLocal);
    }
    for (Message message : untaken.get(rank)) {
      message.checkArrived(windows[rank]);
    }
  }

  /** The messages for a rank that it has not taken. */
  public List<Message> untaken(int target) {
    return untaken.get(target);
  }

  /** A rank is done with messages: others may take their place. All must have arrived. */
  public void take(int target, Predicate<Message> which) {
    untaken
        .get(target)
        .removeIf(
            message -> {
              boolean taken = which.test(message);
              if (taken && !message.hasArrived()) {
                throw new ProtocolViolation(message + " was taken before it arrived");
              }
              return taken;
            });
  }

  /** Looks at the network as if one signal that has arrived had not. */
  public void without(Message signal, Runnable look) {
    signal.without(windows[signal.target], look);
  }

  /** What is under way, in words that are equal if and only if it is the same. */
  public void describe(StringBuilder text) {
    for (Channel channel : channels) {
      for (Message message : channel.travelling()) {
        text.append(message.isSignal() ? 's' : 'w')
            .append(message.kind == Kind.DISPATCH ? 'd' : 'c')
            .append(message.epoch);
      }
      text.append('/').append(channel.incomplete().size()).append(';');
    }
  }

  /** A checksum of all windows. */
  public long checksum() {
    CRC32C sum = new CRC32C();
    for (MemorySegment window : windows) {
      sum.update(window.asByteBuffer());
    }
    return sum.getValue();
  }

  private Channel channel(int source, int target) {
    return channels[source * ranks + target];
  }

  @Override
  public void close() {
    arena.close();
  }
}
