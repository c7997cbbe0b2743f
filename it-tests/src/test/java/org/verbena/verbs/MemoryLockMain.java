package org.verbena.verbs;

/** Registers more memory than this process may lock, and prints what it is told. */
final class MemoryLockMain {
  private MemoryLockMain() {}

  public static void main(String[] args) {
    try (Context context = Verbs.open(PathSelector.ANY).context()) {
      context.createProtectionDomain().allocate(1 << 20, Access.REMOTE_WRITE);
      System.out.println("registered");
    } catch (VerbsException e) {
      System.out.println(e.getMessage());
    }
  }
}
