package org.verbena.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Words by which ranks signal are never read or written plainly: a compiler may take a plain read
 * out of a loop, and a processor may show a plain write before the data that it speaks of.
 */
class SignalAccessTest {
  private static final Path SOURCES = Path.of("src/main/java/org/verbena");

  /** Where a signal is, as a value or kept in a variable. */
  private static final Pattern OFFSET =
      Pattern.compile(
          "(?:long (\\w+) = )?layout\\.(?:dispatchCount|combineProgress|combineFlag)\\(");

  private static final Pattern ORDERED =
      Pattern.compile("(?:getAcquire|[rR]elease|resetSignal)\\(");

  /** Every statement that uses a signal's offset in another way; none if all is well. */
  private static List<String> plainUses(String source) {
    List<String> plain = new ArrayList<>();
    String[] statements = source.split(";", -1);
    for (int i = 0; i < statements.length; i++) {
      Matcher offset = OFFSET.matcher(statements[i]);
      if (offset.find()) {
        String variable = offset.group(1);
        if (variable == null) {
          check(statements[i], plain);
        } else {
          checkUses(Pattern.compile("\\b" + variable + "\\b"), statements, i + 1, plain);
        }
      }
    }
    return plain;
  }

  /** The variable's uses, to the end of its block. */
  private static void checkUses(Pattern variable, String[] statements, int i, List<String> plain) {
    while (i < statements.length && !statements[i].strip().startsWith("}")) {
      if (variable.matcher(statements[i]).find()) {
        check(statements[i], plain);
      }
      i++;
    }
  }

  private static void check(String statement, List<String> plain) {
    if (!ORDERED.matcher(statement).find()) {
      plain.add(statement.strip());
    }
  }

  @Test
  void theExchangeUsesSignalsWithAcquireAndReleaseOnly() throws IOException {
    int found = 0;
    try (Stream<Path> files = Files.list(SOURCES.resolve("moe"))) {
      for (Path file : files.toList()) {
        String source = Files.readString(file);
        assertThat(plainUses(source)).as(file.toString()).isEmpty();
        found += (int) OFFSET.matcher(source).results().count();
      }
    }
    assertThat(found).as("uses of signals").isGreaterThan(5);
  }

  /** All that a control block holds is a signal. */
  @Test
  void theControlBlockIsUsedWithAcquireAndReleaseOnly() throws IOException {
    String source = Files.readString(SOURCES.resolve("transport/shm/ControlBlock.java"));
    assertThat(source).contains("getAcquire(memory", "setRelease(memory");
    assertThat(source).doesNotContain("memory.").doesNotContain(".get(").doesNotContain(".set(");
  }

  @Test
  void aSignalIsStoredWithRelease() throws IOException {
    String source = Files.readString(SOURCES.resolve("transport/shm/ShmTransport.java"));
    assertThat(source)
        .contains("LONG.setRelease(window(peer), remoteOffset, value)")
        .contains("INT.setRelease(window(peer), remoteOffset, value)");
  }

  /** The words that come by RDMA, and those that are stored for it. */
  @Test
  void wordsOfRdmaAreUsedWithAcquireAndReleaseOnly() throws IOException {
    for (String file : List.of("ControlBlock", "Mailbox")) {
      String source = Files.readString(SOURCES.resolve("transport/rdma/" + file + ".java"));
      assertThat(source).contains("LONG.getAcquire(block");
      assertThat(source).doesNotContain(".get(").doesNotContain(".set(");
    }
    String source = Files.readString(SOURCES.resolve("transport/rdma/RdmaTransport.java"));
    assertThat(source)
        .contains("LONG.setRelease(window.memory(), remoteOffset, value)")
        .contains("INT.setRelease(window.memory(), remoteOffset, value)")
        .doesNotContain(".get(ValueLayout")
        .doesNotContain(".set(ValueLayout");
  }

  @Test
  void plantedPlainUsesAreFound() {
    assertThat(plainUses("a(); return window.get(LONG, layout.dispatchCount(half, peer)); }"))
        .containsExactly("return window.get(LONG, layout.dispatchCount(half, peer))");
    assertThat(plainUses("long at = layout.combineFlag(0, 1, 2); b(); INT.set(window, at, 1); }"))
        .containsExactly("INT.set(window, at, 1)");
    assertThat(plainUses("long at = layout.combineFlag(0, 1, 2); INT.setRelease(window, at, 1); }"))
        .isEmpty();
  }
}
