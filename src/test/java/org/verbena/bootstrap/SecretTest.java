package org.verbena.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import org.assertj.core.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SecretTest {
  private static final String WORD = "0123456789abcdef0123456789abcdef";

  @TempDir Path dir;

  private Path file(String content, String permissions) throws Exception {
    Path file = Files.writeString(dir.resolve("secret"), content);
    return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
  }

  @Test
  void aFileAndAVariableGiveTheSameSecret() throws Exception {
    Path file = file(WORD + "\n", "rw-------");
    Optional<Secret> read = Secret.fromEnvironment(Map.of("VERBENA_SECRET_FILE", file.toString()));
    assertThat(read).isEqualTo(Secret.fromEnvironment(Map.of("VERBENA_SECRET", " " + WORD)));
    assertThat(read).isPresent().isNotEqualTo(Optional.of(Secret.random()));
    assertThat(Secret.fromEnvironment(Map.of("VERBENA_SECRET", ""))).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"rw-r-----", "rw----r--", "rw--w----", "rw-----w-", "rw-r--r--"})
  void aFileThatIsOpenToOthersIsRefused(String permissions) throws Exception {
    Path file = file(WORD, permissions);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Secret.read(file))
        .withMessageContaining("is open to others (" + permissions + ")")
        .withMessageContaining("chmod 600 " + file);
  }

  @Test
  void aFileOfAnotherUserIsRefused() throws Exception {
    Path file = file(WORD, "rw-------");
    Assumptions.assumeThat(Files.getAttribute(file, "unix:uid"))
        .as("only root gives files away")
        .isEqualTo(0);
    Files.setAttribute(file, "unix:uid", 12345);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Secret.read(file))
        .withMessageContaining("belongs to user 12345");
  }

  @Test
  void aMissingFileIsNamed() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Secret.read(dir.resolve("none")))
        .withMessageContaining(dir.resolve("none").toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"password", "0123456789abcdef 0123456789abcdef", "über0123456789abcdef012345678"})
  void whatIsNoSecretIsRefusedAndNotShown(String word) throws Exception {
    Path file = file(word, "rw-------");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Secret.read(file))
        .withMessageContaining(file + " holds no secret")
        .withMessageContaining("openssl rand -hex 32")
        .withMessageNotContaining(word);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Secret.fromEnvironment(Map.of("VERBENA_SECRET", word)))
        .withMessageContaining("VERBENA_SECRET holds no secret")
        .withMessageNotContaining(word);
  }

  @Test
  void oneSecretAtATime() {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                Secret.fromEnvironment(
                    Map.of("VERBENA_SECRET", WORD, "VERBENA_SECRET_FILE", "/file")))
        .withMessageContaining("VERBENA_SECRET and VERBENA_SECRET_FILE are both set");
  }

  @Test
  void noTextShowsIt() {
    Secret secret = Secret.random();
    Membership membership = Membership.of(0, 2, new Rendezvous.At("head", 1)).withSecret(secret);
    assertThat(secret.toString()).doesNotContain(secret.word());
    assertThat(membership.toString()).doesNotContain(secret.word());
    assertThat(Membership.fromEnvironment(membership.toEnvironment())).isEqualTo(membership);
  }

  /** The values are those of {@code openssl dgst -sha256 -mac HMAC} over the same bytes. */
  @Test
  void aProofIsTheHmacOfSideAndChallenges() {
    Secret secret = Secret.fromEnvironment(Map.of("VERBENA_SECRET", WORD)).orElseThrow();
    byte[] listeners = HexFormat.of().parseHex("11".repeat(32));
    byte[] dialers = HexFormat.of().parseHex("22".repeat(32));
    byte[] listener = secret.proof(Secret.Side.LISTENER, listeners, dialers);
    byte[] dialer = secret.proof(Secret.Side.DIALER, listeners, dialers);
    assertThat(HexFormat.of().formatHex(listener))
        .isEqualTo("b0de9ab01a5aed9f86c966c60ffdfa635086b2f41a52b4da027017c98baa6fe4");
    assertThat(HexFormat.of().formatHex(dialer))
        .isEqualTo("d1b5e8ce73b4f415761ccfac33d7a8baad36bcaad44faa2430cac8041c726028");
    assertThat(secret.accepts(listener, Secret.Side.LISTENER, listeners, dialers)).isTrue();
    assertThat(secret.accepts(listener, Secret.Side.DIALER, listeners, dialers)).isFalse();
    assertThat(secret.accepts(listener, Secret.Side.LISTENER, dialers, listeners)).isFalse();
    assertThat(secret.accepts(new byte[0], Secret.Side.LISTENER, listeners, dialers)).isFalse();
    listener[31] ^= 1;
    assertThat(secret.accepts(listener, Secret.Side.LISTENER, listeners, dialers)).isFalse();
  }
}
