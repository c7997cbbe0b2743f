package org.verbena.bootstrap;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * What the ranks of a group know and nobody else does. By it they prove to each other that they
 * belong: each answers the other's random challenge with an HMAC-SHA-256 (RFC 2104) that nobody can
 * make without the secret. The secret itself is never sent and never printed. Immutable.
 *
 * <p>A secret is a word of at least {@value #MIN_LENGTH} printable ASCII characters, taken at
 * random: whoever has listened to a proof can try short or guessable ones at leisure. One is made
 * by {@code openssl rand -hex 32}.
 */
public final class Secret {
  /** The variable that holds a secret. */
  public static final String VARIABLE = "VERBENA_SECRET";

  /** The variable that names the file of a secret. */
  public static final String FILE_VARIABLE = "VERBENA_SECRET_FILE";

  static final int CHALLENGE_BYTES = 32;
  static final int PROOF_BYTES = 32;

  /** How to help oneself, for the end of an error message. */
  static final String ADVICE =
      "give all ranks the same secret: openssl rand -hex 32 >FILE; chmod 600 FILE; export "
          + FILE_VARIABLE
          + "=FILE";

  private static final int MIN_LENGTH = 32;
  private static final int MAX_FILE_BYTES = 4096;
  private static final Pattern WORD = Pattern.compile("[!-~]{" + MIN_LENGTH + ",}");
  private static final String ALGORITHM = "HmacSHA256";
  private static final String CONTEXT = "org.verbena.bootstrap";
  private static final SecureRandom RANDOM = new SecureRandom();
  private static final Set<PosixFilePermission> OWNERS =
      PosixFilePermissions.fromString("rwx------");
  private static final Set<PosixFilePermission> GROUPS =
      PosixFilePermissions.fromString("rwxr-----");

  /** The side that proves; one side's proof is no proof of the other. */
  enum Side {
    LISTENER,
    DIALER
  }

  private final String word;
  private final SecretKeySpec key;

  private Secret(String word, String source) {
    if (!WORD.matcher(word).matches()) {
      throw new IllegalArgumentException(
          String.format(
              "%s holds no secret: one has at least %d printable ASCII characters and no spaces;"
                  + " make one with 'openssl rand -hex 32'",
              source, MIN_LENGTH));
    }
    this.word = word;
    this.key = new SecretKeySpec(word.getBytes(US_ASCII), ALGORITHM);
    // What Java loads for it takes a while, and would take it when the other side waits.
    byte[] _ = proof(Side.LISTENER, challenge(), challenge());
  }

  /** A secret of 32 random bytes, in hexadecimal. */
  public static Secret random() {
    return new Secret(HexFormat.of().formatHex(challenge()), "a random number");
  }

  /**
   * Reads a secret; white space around it is no part of it.
   *
   * @param file belongs to the user of this process and is for that user alone; or belongs to root
   *     and is read by no more than its group, as where a volume of secrets is mounted
   * @throws IllegalArgumentException if the file cannot be read, others can read it, or it holds no
   *     secret; it is named
   */
  public static Secret read(Path file) {
    try {
      checkAccess(file);
      if (Files.size(file) > MAX_FILE_BYTES) {
        throw new IllegalArgumentException(file + " is too large for the file of a secret");
      }
      return new Secret(new String(Files.readAllBytes(file), US_ASCII).strip(), file.toString());
    } catch (IOException e) {
      throw new IllegalArgumentException("the secret cannot be read: " + e, e);
    }
  }

  private static void checkAccess(Path file) throws IOException {
    Object owner = Files.getAttribute(file, "unix:uid");
    boolean own = owner.equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
    if (!own && !owner.equals(0)) {
      throw new IllegalArgumentException(
          file
              + " belongs to user "
              + owner
              + ", who is neither the user of this process nor root");
    }
    Set<PosixFilePermission> found = Files.getPosixFilePermissions(file);
    if (!(own ? OWNERS : GROUPS).containsAll(found)) {
      throw new IllegalArgumentException(
          String.format(
              "%s is open to others (%s) and so keeps no secret: chmod 600 %s",
              file, PosixFilePermissions.toString(found), file));
    }
  }

  /**
   * Reads the secret that {@value #VARIABLE} holds, or the file that {@value #FILE_VARIABLE} names.
   *
   * @return empty if neither is set
   * @throws IllegalArgumentException as {@link #read} does, or if both are set
   */
  public static Optional<Secret> fromEnvironment(Map<String, String> environment) {
    String word = environment.getOrDefault(VARIABLE, "").strip();
    String file = environment.getOrDefault(FILE_VARIABLE, "").strip();
    if (!word.isEmpty() && !file.isEmpty()) {
      throw new IllegalArgumentException(
          VARIABLE + " and " + FILE_VARIABLE + " are both set; unset one of them");
    }
    if (!file.isEmpty()) {
      return Optional.of(read(Path.of(file)));
    }
    return word.isEmpty() ? Optional.empty() : Optional.of(new Secret(word, VARIABLE));
  }

  /** The secret itself, for the environment of a process that this one starts. */
  public String word() {
    return word;
  }

  /** Bytes that were never a challenge before. */
  static byte[] challenge() {
    byte[] challenge = new byte[CHALLENGE_BYTES];
    RANDOM.nextBytes(challenge);
    return challenge;
  }

  /**
   * What only who knows the secret can answer. It covers the side that answers, so that it cannot
   * be sent back to its maker as the other's; both challenges, so that it cannot be used again; and
   * the name and version of this conversation, so that it cannot come from another.
   *
   * @param listeners the challenge that the listener has sent
   * @param dialers the challenge that the dialer has sent
   */
  byte[] proof(Side side, byte[] listeners, byte[] dialers) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      mac.update((CONTEXT + ' ' + Message.VERSION + ' ' + side + ' ').getBytes(US_ASCII));
      mac.update(listeners);
      mac.update(dialers);
      return mac.doFinal();
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("every Java has " + ALGORITHM, e);
    }
  }

  /** Whether a proof is right, in a time that does not tell where it is wrong. */
  boolean accepts(byte[] proof, Side side, byte[] listeners, byte[] dialers) {
    return MessageDigest.isEqual(proof, proof(side, listeners, dialers));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Secret secret
        && MessageDigest.isEqual(word.getBytes(US_ASCII), secret.word.getBytes(US_ASCII));
  }

  @Override
  public int hashCode() {
    return word.hashCode();
  }

  /** Says nothing about the secret. */
  @Override
  public String toString() {
    return "a secret";
  }
}
