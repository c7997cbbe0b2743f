package org.verbena.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.verbena.acceptance.Ranks;

class ReadmeTest {
  private static final Path SOURCES = Path.of("src/test/java/org/verbena/examples");

  @Test
  void theExchangeExampleStandsInTheReadmeAsItIsCompiled() throws Exception {
    assertThat(Files.readString(Path.of("README.md")))
        .contains(
            "```java\n" + Files.readString(SOURCES.resolve("ExchangeExample.java")) + "```\n");
  }

  @Test
  void theExchangeExampleGivesWhatTheReadmeSays() throws Exception {
    Ranks.run(2, group -> assertThat(ExchangeExample.run(group)).isEqualTo(10f + group.rank()));
  }
}
