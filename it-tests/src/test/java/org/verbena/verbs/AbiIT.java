package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.PaddingLayout;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.verbena.cluster.Cluster;
import org.verbena.cluster.ClusterTest;
import org.verbena.ffi.IbverbsTypes;

/** Whether the generated bindings say what a C compiler says of the header in a node. */
@ClusterTest(nodes = 1)
class AbiIT {
  private static final Path PROBE = Path.of("native/abi_probe.c");
  private static final Path BINDINGS = Path.of("native/src/main/java/org/verbena/ffi");

  /** Made by the library, or filled by it into memory with room to spare: may have grown. */
  private static final Set<String> MAY_GROW =
      Set.of(
          "ibv_port_attr", "ibv_device_attr", "ibv_device_attr_ex", "ibv_qp_ex", "verbs_context");

  /** What grows at its front is only ever used by the distance from this member. */
  private static final Map<String, String> ANCHORS = Map.of("verbs_context", "context");

  private final Cluster cluster;

  AbiIT(Cluster cluster) {
    this.cluster = cluster;
  }

  @Test
  void everySizeOffsetAndConstantIsThatOfTheHeader() throws Exception {
    Set<String> c = new TreeSet<>(lines(runProbe()));
    Set<String> java = new TreeSet<>(bindings());

    assertThat(java).hasSizeGreaterThan(300);
    assertThat(c).containsAll(java);
    assertThat(java).as("what the probe prints is also bound").containsAll(c);
  }

  private String runProbe() throws IOException {
    return cluster
        .node(1)
        .exec(
            "sh",
            "-c",
            "cat > /tmp/abi_probe.c <<'END_OF_PROBE'\n"
                + Files.readString(PROBE)
                + "END_OF_PROBE\n"
                + "gcc -Wall -Werror -o /tmp/abi_probe /tmp/abi_probe.c && /tmp/abi_probe")
        .orThrow()
        .stdout();
  }

  /** A structure that may have grown must have at least its size, and then counts as equal. */
  private static List<String> lines(String output) throws Exception {
    List<String> lines = new ArrayList<>();
    for (String line : output.lines().toList()) {
      String[] words = line.split(" ", -1);
      if (words[0].equals("size") && MAY_GROW.contains(words[1])) {
        long declared = layout(words[1]).byteSize();
        assertThat(Long.parseLong(words[2])).as(line).isGreaterThanOrEqualTo(declared);
        lines.add("size " + words[1] + " " + declared);
      } else {
        lines.add(line);
      }
    }
    return lines;
  }

  private static List<String> bindings() throws Exception {
    List<String> lines = new ArrayList<>();
    try (Stream<Path> files = Files.list(BINDINGS)) {
      for (Path file : files.toList()) {
        String name = file.getFileName().toString().replace(".java", "");
        if (name.matches("_?ibv_.*|verbs_context")) {
          GroupLayout layout = layout(name);
          lines.add("size " + name + " " + layout.byteSize());
          fields(lines, name, "", -anchor(name, layout), layout);
        }
      }
    }
    for (Method method : IbverbsTypes.class.getMethods()) {
      if (method.getName().startsWith("IBV_")) {
        lines.add("constant " + method.getName() + " " + method.invoke(null));
      }
    }
    return lines;
  }

  private static long anchor(String name, GroupLayout layout) {
    String member = ANCHORS.get(name);
    return member == null ? 0 : layout.byteOffset(PathElement.groupElement(member));
  }

  private static GroupLayout layout(String name) throws Exception {
    return (GroupLayout) Class.forName("org.verbena.ffi." + name).getMethod("layout").invoke(null);
  }

  /** Members of unnamed unions are members of what they lie in, as in C. */
  private static void fields(
      List<String> lines, String type, String prefix, long base, GroupLayout layout) {
    long offset = base;
    boolean union = layout instanceof java.lang.foreign.UnionLayout;
    for (MemoryLayout member : layout.memberLayouts()) {
      String name = member.name().orElse("");
      if (member instanceof GroupLayout group && name.startsWith("$anon")) {
        fields(lines, type, prefix, offset, group);
      } else if (!(member instanceof PaddingLayout)) {
        lines.add("field %s.%s%s %d %d".formatted(type, prefix, name, offset, member.byteSize()));
        if (member instanceof GroupLayout group && isInline(type, prefix, name)) {
          fields(lines, type, prefix + name + ".", offset, group);
        }
      }
      offset += union ? 0 : member.byteSize();
    }
  }

  /** Unions that have names but no type of their own. */
  private static boolean isInline(String type, String prefix, String name) {
    if (type.equals("ibv_async_event")) {
      return name.equals("element");
    }
    return type.equals("ibv_send_wr")
        && (name.equals("wr")
            || name.equals("qp_type")
            || prefix.startsWith("wr.")
            || prefix.startsWith("qp_type."));
  }
}
