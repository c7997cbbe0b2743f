package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;

/** The table of docs/verbs.md against the tests and the bindings. */
class VerbsTableTest {
  private static final Pattern TEST = Pattern.compile("`([A-Z]\\w+)\\.(\\w+)`");
  private static final Pattern FUNCTION = Pattern.compile("--include-function (\\w+)");
  private static final List<String> PACKAGES =
      List.of("org.verbena.verbs.", "org.verbena.cli.", "org.verbena.examples.");

  private static List<String> rows() throws IOException {
    List<String> rows =
        Files.readAllLines(Path.of("docs/verbs.md")).stream()
            .filter(line -> line.startsWith("| ") && !line.startsWith("| ---"))
            .filter(line -> !line.endsWith("| here |"))
            .toList();
    assertThat(rows).hasSizeGreaterThan(60);
    return rows;
  }

  @Test
  void eachRowNamesTestsThatExistOrSaysWhyItHasNone() throws IOException {
    List<String> missing = new ArrayList<>();
    for (String row : rows()) {
      String[] cells = row.split("\\|", -1);
      assertThat(cells).as(row).hasSize(5);
      Matcher tests = TEST.matcher(cells[3]);
      int named = 0;
      while (tests.find()) {
        named++;
        if (!exists(tests.group(1), tests.group(2))) {
          missing.add(tests.group());
        }
      }
      if (named == 0) {
        assertThat(cells[3]).as(row).startsWith(" left out: ");
      }
    }
    assertThat(missing).isEmpty();
  }

  @Test
  void eachVerbThatIsBoundHasARow() throws IOException {
    List<String> missing = new ArrayList<>();
    Matcher functions = FUNCTION.matcher(Files.readString(Path.of("native/functions.options")));
    List<String> verbs = new ArrayList<>(List.of("ibv_post_send", "ibv_post_recv", "ibv_poll_cq"));
    verbs.addAll(List.of("ibv_req_notify_cq", "ibv_post_srq_recv", "ibv_query_device_ex"));
    while (functions.find()) {
      verbs.add(functions.group(1));
    }
    String table = String.join("\n", rows());
    for (String verb : verbs) {
      if (!table.contains("`" + verb + "`")) {
        missing.add(verb);
      }
    }
    assertThat(missing).isEmpty();
  }

  private static boolean exists(String type, String method) {
    for (String name : PACKAGES) {
      try {
        return Arrays.stream(Class.forName(name + type).getDeclaredMethods())
            .filter(each -> each.getName().equals(method))
            .anyMatch(
                each ->
                    each.isAnnotationPresent(Test.class)
                        || each.isAnnotationPresent(ParameterizedTest.class));
      } catch (ClassNotFoundException e) {
        // in another package
      }
    }
    return false;
  }
}
