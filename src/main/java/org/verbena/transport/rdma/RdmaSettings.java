package org.verbena.transport.rdma;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.SequencedMap;
import org.verbena.verbs.PathSelector;
import org.verbena.verbs.QueuePairOptions;
import org.verbena.verbs.Traffic;

/**
 * How the transport between hosts is set up. Each has a name, given here with its default:
 *
 * <ul>
 *   <li>{@code device} (the best), {@code port} (the best), {@code gid-index} (by content): see
 *       {@link PathSelector}
 *   <li>{@code sl} (0), {@code tc} (0), {@code timeout} (16), {@code retry-count} (6), {@code
 *       rnr-retry} (6): see {@link QueuePairOptions}
 *   <li>{@code queue-depth} (128): requests that may be under way on a queue pair
 *   <li>{@code inline} (64): bytes of a signal that travel inside its request
 *   <li>{@code chunk} (262144): bytes of the largest message; larger writes are cut
 *   <li>{@code queue-pairs} (1): queue pairs for each peer
 *   <li>{@code signal} (write): see {@link SignalKind}
 *   <li>{@code reads}, {@code atomics} (false): whether peers may read from a window, and change it
 *       by atomics
 *   <li>{@code huge-pages} (none): a folder on a hugetlbfs, on whose pages the window is
 * </ul>
 *
 * In the environment a name has the prefix {@code VERBENA_RDMA_}, capitals, and underscores; in a
 * properties file the prefix {@code verbena.rdma.}.
 */
public record RdmaSettings(
    String device,
    int port,
    int gidIndex,
    int serviceLevel,
    int trafficClass,
    int timeout,
    int retryCount,
    int rnrRetry,
    int queueDepth,
    int inlineBytes,
    int chunkBytes,
    int queuePairs,
    SignalKind signal,
    boolean reads,
    boolean atomics,
    String hugePages) {
  /** The environment variable that names a properties file; variables go before what it says. */
  public static final String FILE_VARIABLE = "VERBENA_RDMA_FILE";

  /** The defaults. */
  public static final RdmaSettings DEFAULTS = builder().build();

  private static final String VARIABLE = "VERBENA_RDMA_";
  private static final String PROPERTY = "verbena.rdma.";

  /**
   * Checks the numbers.
   *
   * @throws IllegalArgumentException naming the setting, its value and what it may be
   */
  public RdmaSettings {
    require("queue-depth", queueDepth, 2, 1 << 15);
    require("inline", inlineBytes, 0, 1 << 12);
    require("chunk", chunkBytes, 256, 1 << 30);
    require("queue-pairs", queuePairs, 1, 64);
    var _ = new PathSelector(device, port, gidIndex);
    var _ =
        QueuePairOptions.DEFAULTS
            .withRetries(timeout, retryCount, 0, rnrRetry)
            .withTraffic(new Traffic(serviceLevel, trafficClass, 0, 1));
  }

  private static void require(String name, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          "%s is %d; it must be %d to %d".formatted(name, value, least, most));
    }
  }

  /** Settings under way, all defaults so far. */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * What the environment says, and the file that it names in {@value #FILE_VARIABLE}.
   *
   * @throws IllegalArgumentException if a setting is unknown or has no such value, or the file
   *     can't be read
   */
  public static RdmaSettings fromEnvironment(Map<String, String> environment) {
    Builder builder = builder();
    String file = environment.getOrDefault(FILE_VARIABLE, "");
    if (!file.isEmpty()) {
      builder.file(Path.of(file));
    }
    environment.forEach(
        (name, value) -> {
          if (name.startsWith(VARIABLE) && !name.equals(FILE_VARIABLE) && !value.isEmpty()) {
            String setting = name.substring(VARIABLE.length()).toLowerCase(Locale.ROOT);
            builder.set(name, setting.replace('_', '-'), value.strip());
          }
        });
    return builder.build();
  }

  /**
   * What a properties file says; its entries with other prefixes are of no concern here.
   *
   * @throws IllegalArgumentException as for {@link #fromEnvironment}
   */
  public static RdmaSettings fromFile(Path file) {
    return builder().file(file).build();
  }

  /** What all ranks must have alike. */
  SequencedMap<String, String> agreement() {
    SequencedMap<String, String> fields = new LinkedHashMap<>();
    fields.put("rdma queue pairs", "" + queuePairs);
    fields.put("rdma signal", signal.text());
    fields.put("rdma queue depth", "" + queueDepth);
    fields.put("rdma reads", "" + reads);
    fields.put("rdma atomics", "" + atomics);
    return fields;
  }

  /** What queue pairs with so many receives are made with. */
  QueuePairOptions options(int receives) {
    QueuePairOptions options =
        QueuePairOptions.DEFAULTS
            .withDepths(queueDepth + Lane.RESERVED, receives)
            .withInline(inlineBytes)
            .withRetries(timeout, retryCount, QueuePairOptions.DEFAULTS.minRnrTimer(), rnrRetry)
            .withTraffic(new Traffic(serviceLevel, trafficClass, 0, Traffic.DEFAULTS.hopLimit()));
    return signal == SignalKind.ATOMIC_WRITE ? options.withAtomicWrite() : options;
  }

  PathSelector selector() {
    return new PathSelector(device, port, gidIndex);
  }

  /** Settings under way. Not thread-safe. */
  public static final class Builder {
    private String device = "";
    private int port;
    private int gidIndex = -1;
    private int serviceLevel = Traffic.DEFAULTS.serviceLevel();
    private int trafficClass = Traffic.DEFAULTS.trafficClass();
    private int timeout = 16; // a peer behind a network in software may be late by a second
    private int retryCount = QueuePairOptions.DEFAULTS.retryCount();
    private int rnrRetry = QueuePairOptions.DEFAULTS.rnrRetry();
    private int queueDepth = 128;
    private int inlineBytes = 64;
    private int chunkBytes = 256 << 10;
    private int queuePairs = 1;
    private SignalKind signal = SignalKind.WRITE;
    private boolean reads;
    private boolean atomics;
    private String hugePages = "";

    private Builder() {}

    /** The device's name; the best one if empty. */
    public Builder device(String name) {
      device = name;
      return this;
    }

    /** The device's port, from 1; 0 for the best one. */
    public Builder port(int number) {
      port = number;
      return this;
    }

    /** The place of the GID in the port's table; -1 for a choice by what it is. */
    public Builder gidIndex(int index) {
      gidIndex = index;
      return this;
    }

    /** Service level, 0 to 15. */
    public Builder serviceLevel(int level) {
      serviceLevel = level;
      return this;
    }

    /** IP traffic class on RoCE, 0 to 255. */
    public Builder trafficClass(int value) {
      trafficClass = value;
      return this;
    }

    /** What is waited for an acknowledgement: 4.096 µs times 2^code. */
    public Builder timeout(int code) {
      timeout = code;
      return this;
    }

    /** Retries before a peer is given up, 0 to 6; 7 is for ever on some devices. */
    public Builder retryCount(int count) {
      retryCount = count;
      return this;
    }

    /** Retries against a peer that has no receive ready, 0 to 6; 7 is for ever. */
    public Builder rnrRetry(int count) {
      rnrRetry = count;
      return this;
    }

    /** Requests that may be under way on a queue pair. */
    public Builder queueDepth(int requests) {
      queueDepth = requests;
      return this;
    }

    /** Bytes of a signal that travel inside its request; 0 for none. */
    public Builder inlineBytes(int bytes) {
      inlineBytes = bytes;
      return this;
    }

    /** Bytes of the largest message. */
    public Builder chunkBytes(int bytes) {
      chunkBytes = bytes;
      return this;
    }

    /** Queue pairs for each peer. */
    public Builder queuePairs(int count) {
      queuePairs = count;
      return this;
    }

    /** By which operation is signalled. */
    public Builder signal(SignalKind kind) {
      signal = kind;
      return this;
    }

    /** Whether peers may read from this rank's window. */
    public Builder reads(boolean allowed) {
      reads = allowed;
      return this;
    }

    /** Whether peers may change this rank's window by atomics. */
    public Builder atomics(boolean allowed) {
      atomics = allowed;
      return this;
    }

    /** A folder on a hugetlbfs for the window; empty for pages of the usual size. */
    public Builder hugePages(String folder) {
      hugePages = folder;
      return this;
    }

    /**
     * Takes what a properties file says.
     *
     * @throws IllegalArgumentException as for {@link RdmaSettings#fromFile}
     */
    public Builder file(Path file) {
      Properties properties = new Properties();
      try (Reader reader = Files.newBufferedReader(file)) {
        properties.load(reader);
      } catch (IOException e) {
        throw new IllegalArgumentException("the settings in " + file + " can't be read: " + e, e);
      }
      for (String name : properties.stringPropertyNames()) {
        if (name.startsWith(PROPERTY)) {
          set(name, name.substring(PROPERTY.length()), properties.getProperty(name).strip());
        }
      }
      return this;
    }

    private void set(String where, String setting, String value) {
      try {
        switch (setting) {
          case "device" -> device(value);
          case "port" -> port(Integer.parseInt(value));
          case "gid-index" -> gidIndex(Integer.parseInt(value));
          case "sl" -> serviceLevel(Integer.parseInt(value));
          case "tc" -> trafficClass(Integer.parseInt(value));
          case "timeout" -> timeout(Integer.parseInt(value));
          case "retry-count" -> retryCount(Integer.parseInt(value));
          case "rnr-retry" -> rnrRetry(Integer.parseInt(value));
          case "queue-depth" -> queueDepth(Integer.parseInt(value));
          case "inline" -> inlineBytes(Integer.parseInt(value));
          case "chunk" -> chunkBytes(Integer.parseInt(value));
          case "queue-pairs" -> queuePairs(Integer.parseInt(value));
          case "signal" -> signal(SignalKind.of(value));
          case "reads" -> reads(parseBoolean(value));
          case "atomics" -> atomics(parseBoolean(value));
          case "huge-pages" -> hugePages(value);
          default -> throw new IllegalArgumentException("there is no setting of this name");
        }
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException("%s=%s: %s".formatted(where, value, e.getMessage()), e);
      }
    }

    private static boolean parseBoolean(String value) {
      return switch (value.toLowerCase(Locale.ROOT)) {
        case "true", "1" -> true;
        case "false", "0" -> false;
        default -> throw new IllegalArgumentException("it must be true or false");
      };
    }

    /**
     * The finished settings.
     *
     * @throws IllegalArgumentException naming the setting, its value and what it may be
     */
    public RdmaSettings build() {
      return new RdmaSettings(
          device,
          port,
          gidIndex,
          serviceLevel,
          trafficClass,
          timeout,
          retryCount,
          rnrRetry,
          queueDepth,
          inlineBytes,
          chunkBytes,
          queuePairs,
          signal,
          reads,
          atomics,
          hugePages);
    }
  }
}
