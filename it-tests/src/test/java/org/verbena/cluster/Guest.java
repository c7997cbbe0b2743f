package org.verbena.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The guest with rxe and a Docker engine, driven through its script. */
final class Guest implements AutoCloseable {
  /** A first start builds; the script's own deadlines are shorter. */
  private static final long START_MINUTES = 40;

  private final Process process;
  private final Line line;

  /** What the script prints about a guest that answers. */
  record Line(String address, String image, String accelerator, String why) {
    static Line parse(String text) {
      String[] words = text.strip().split(" ", 4);
      if (words.length < 4) {
        throw new ClusterException("The guest script printed '" + text + "'");
      }
      return new Line(words[0], words[1], words[2], words[3]);
    }

    String reason() {
      return "a guest, as no configured engine has rxe; %s, as %s".formatted(accelerator, why);
    }
  }

  private Guest(Process process, Line line) {
    this.process = process;
    this.line = line;
  }

  /**
   * Starts a guest that ends with this process, however that ends: the script watches its standard
   * input.
   */
  static Guest run(Build build, String name, Path console) {
    try {
      ProcessBuilder builder = builder(build, "run", name);
      builder.environment().put("VERBENA_GUEST_LOG", console.toString());
      Process process = builder.start();
      try {
        return new Guest(process, Line.parse(firstLine(process)));
      } catch (RuntimeException e) {
        process.destroy();
        throw e;
      }
    } catch (IOException e) {
      throw new ClusterException("The guest cannot be started", e);
    }
  }

  /** Starts a guest that stays, or finds it. */
  static Line start(Build build, String name) {
    return Line.parse(
        output(build, "start", name)
            .orElseThrow(() -> new ClusterException("The guest did not start; see above")));
  }

  /** Finds a guest that stays. */
  static Optional<Line> probe(Build build, String name) {
    ProcessBuilder builder = builder(build, "probe", name);
    return output(builder.redirectError(ProcessBuilder.Redirect.DISCARD)).map(Line::parse);
  }

  static void stop(Build build, String name) {
    output(build, "stop", name);
  }

  /** Returns the name of the node image and the tar it is made from, built where it is missing. */
  static String[] nodeImage(Build build) {
    return output(build, "node-image")
        .orElseThrow(() -> new ClusterException("The node image cannot be built; see above"))
        .strip()
        .split(" ", 2);
  }

  Line line() {
    return line;
  }

  @Override
  public void close() {
    try {
      process.getOutputStream().close();
      if (!process.waitFor(20, TimeUnit.SECONDS)) {
        process.destroy();
        throw new ClusterException(
            "The guest does not stop; its script is process " + process.pid());
      }
    } catch (IOException e) {
      throw new ClusterException("The guest cannot be stopped", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      process.destroy();
    }
  }

  private static ProcessBuilder builder(Build build, String... arguments) {
    List<String> command = new ArrayList<>(List.of(build.guestScript().toString()));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
  }

  private static Optional<String> output(Build build, String... arguments) {
    return output(builder(build, arguments));
  }

  private static Optional<String> output(ProcessBuilder builder) {
    try {
      Process process = builder.start();
      String output = new String(process.getInputStream().readAllBytes(), UTF_8);
      return process.waitFor() == 0 ? Optional.of(output) : Optional.empty();
    } catch (IOException e) {
      throw new ClusterException("The guest script cannot be run", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("Interrupted while the guest script ran", e);
    }
  }

  private static String firstLine(Process process) {
    BufferedReader reader = process.inputReader();
    CompletableFuture<String> line =
        CompletableFuture.supplyAsync(
            () -> {
              try {
                String text = reader.readLine();
                if (text == null) {
                  throw new ClusterException("The guest did not start; see above");
                }
                return text;
              } catch (IOException e) {
                throw new ClusterException("The guest script cannot be read", e);
              }
            });
    try {
      return line.get(START_MINUTES, TimeUnit.MINUTES);
    } catch (ExecutionException e) {
      throw new ClusterException("The guest did not start; see above", e.getCause());
    } catch (TimeoutException e) {
      throw new ClusterException("The guest did not start in " + START_MINUTES + " minutes", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ClusterException("Interrupted while the guest started", e);
    }
  }
}
