package org.verbena.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.verbena.layout.BufferLayout;
import org.verbena.layout.LayoutOptions;
import org.verbena.layout.LayoutPicture;
import org.verbena.layout.LayoutTable;
import org.verbena.layout.Region;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** {@code verbena layout}: how much memory an exchange takes, and where everything lies in it. */
@Command(
    name = "layout",
    mixinStandardHelpOptions = true,
    description = {
      "Prints the memory that an exchange takes on each rank, and the regions in it.",
      "The environment variable RDMA_BUFFER_SCALE (at least 1) enlarges the allocation."
    })
final class LayoutCommand implements Callable<Integer> {
  @Mixin private ExchangeOptions exchange;

  @Option(
      names = "--transport",
      defaultValue = "rdma",
      paramLabel = "rdma|shm",
      converter = KindConverter.class,
      description = "The memory to lay out (default: ${DEFAULT-VALUE}).")
  private LayoutOptions.Kind kind;

  @Option(
      names = "--halves",
      defaultValue = "2",
      paramLabel = "1|2",
      description = "2 for two rounds in flight, 1 for sequential use (default: ${DEFAULT-VALUE}).")
  private int halves;

  @Option(names = "--compact", description = "Share memory between the send regions.")
  private boolean compact;

  @Option(names = "--json", description = "Print the figures as JSON.")
  private boolean json;

  @Option(
      names = "--svg",
      paramLabel = "FILE",
      description = "Write a picture of one half, to scale, to this file.")
  private @Nullable Path svg;

  @Spec private CommandSpec spec;

  @Override
  public Integer call() {
    BufferLayout layout;
    try {
      var options = new LayoutOptions(kind, halves, compact, 1).withScaleFrom(System.getenv());
      layout = new BufferLayout(exchange.shape(), options);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage(), e);
    }
    if (svg != null) {
      try {
        var picture = ByteBuffer.wrap(LayoutPicture.svg(layout).getBytes(UTF_8));
        AtomicFile.write(svg, picture);
      } catch (IOException e) {
        spec.commandLine().getErr().println("verbena: cannot write the picture: " + e);
        return ExitCode.FAILED;
      }
    }
    var out = spec.commandLine().getOut();
    out.print(json ? json(layout) + System.lineSeparator() : LayoutTable.render(layout));
    out.flush();
    return ExitCode.OK;
  }

  private static String json(BufferLayout layout) {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("sizeHintBytes", layout.sizeHintBytes());
    members.put("deepEpHintBytes", layout.deepEpHintBytes());
    members.put("requiredBytes", layout.requiredBytes());
    members.put("allocationBytes", layout.allocationBytes());
    members.put("savedBytes", layout.savedBytes());
    members.put("halfBytes", layout.halfBytes());
    members.put("regions", layout.regions().stream().map(LayoutCommand::json).toList());
    return Json.of(members);
  }

  private static Map<String, Object> json(Region region) {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("name", region.name());
    members.put("half", region.half());
    members.put("offset", region.offset());
    members.put("bytes", region.bytes());
    return members;
  }

  private static final class KindConverter implements ITypeConverter<LayoutOptions.Kind> {
    @Override
    public LayoutOptions.Kind convert(String value) {
      return switch (value) {
        case "rdma" -> LayoutOptions.Kind.RDMA;
        case "shm" -> LayoutOptions.Kind.SHARED;
        default -> throw new TypeConversionException("must be rdma or shm, but is '" + value + "'");
      };
    }
  }
}
