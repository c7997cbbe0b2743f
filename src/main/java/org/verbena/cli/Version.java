package org.verbena.cli;

import picocli.CommandLine.IVersionProvider;

/** The version of this build, and of the Java it runs on. */
final class Version implements IVersionProvider {
  @Override
  public String[] getVersion() {
    Module module = Version.class.getModule();
    String version = module.isNamed() ? module.getDescriptor().toNameAndVersion() : "unpackaged";
    return new String[] {
      version.replace("org.verbena@", "verbena "),
      "Java " + Runtime.version() + ", " + System.getProperty("os.arch")
    };
  }
}
