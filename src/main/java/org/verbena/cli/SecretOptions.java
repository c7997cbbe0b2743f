package org.verbena.cli;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.verbena.bootstrap.Secret;
import picocli.CommandLine.Option;

/**
 * How a rank that a launcher has started knows the others. A command line can be read by everyone
 * on a machine, so there is no option that holds a secret.
 */
final class SecretOptions {
  @Option(
      names = "--secret-file",
      paramLabel = "FILE",
      description =
          "A file that others cannot read, with the secret by which ranks know each other; else"
              + " VERBENA_SECRET or VERBENA_SECRET_FILE.")
  private @Nullable Path file;

  @Option(
      names = "--insecure",
      description =
          "Without a secret, talk over more than loopback all the same: whoever reaches rank 0 can"
              + " then join the group; as VERBENA_INSECURE=1.")
  private boolean insecure;

  /** The variables of a launcher, with what the options say in place of theirs. */
  Map<String, String> over(Map<String, String> environment) {
    Map<String, String> variables = new HashMap<>(environment);
    if (file != null) {
      variables.remove(Secret.VARIABLE);
      variables.put(Secret.FILE_VARIABLE, file.toString());
    }
    if (insecure) {
      variables.put("VERBENA_INSECURE", "1");
    }
    return variables;
  }
}
