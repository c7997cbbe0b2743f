package org.verbena.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AtomicFileTest {
  @TempDir private Path folder;

  @Test
  void writesThePartsInOrderOverAnOlderFile() throws IOException {
    var file = Files.writeString(folder.resolve("file"), "a longer text from before");
    AtomicFile.write(file, bytes("one, "), bytes("two"));
    assertThat(file).hasContent("one, two");
    assertThat(folder).isDirectoryContaining(file::equals);
    assertThat(folder.toFile().list()).hasSize(1);
  }

  @Test
  void leavesNothingBehindWhenItFails() throws IOException {
    var target = Files.createDirectory(folder.resolve("folder"));
    assertThatIOException()
        .isThrownBy(() -> AtomicFile.write(target, bytes("text")))
        .withMessage(target + ": not a regular file");
    assertThatIOException()
        .isThrownBy(() -> AtomicFile.write(folder.resolve("none/file"), bytes("text")));
    assertThat(folder.toFile().list()).containsExactly("folder");
  }

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes(UTF_8));
  }
}
