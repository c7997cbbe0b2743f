package org.verbena.architecture;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Which package may know which: each one those named beside it, and itself.
 *
 * @param root the package that holds them all
 * @param allowed package below the root, to the packages below the root it may use
 */
record Layering(String root, Map<String, Set<String>> allowed) {
  static final Layering VERBENA =
      new Layering(
          "org.verbena",
          Map.ofEntries(
              Map.entry(
                  "cli",
                  Set.of(
                      "acceptance",
                      "bootstrap",
                      "collective",
                      "layout",
                      "moe",
                      "transport",
                      "transport.rdma",
                      "transport.shm",
                      "verbs")),
              Map.entry("acceptance", Set.of("layout", "moe")),
              Map.entry("bootstrap", Set.of()),
              Map.entry("collective", Set.of("bootstrap", "layout", "transport")),
              Map.entry("ffi", Set.of()),
              Map.entry("layout", Set.of()),
              Map.entry("moe", Set.of("bootstrap", "layout", "transport")),
              Map.entry("transport", Set.of("bootstrap")),
              // Mixed groups reach those on the same host through shared memory.
              Map.entry(
                  "transport.rdma", Set.of("bootstrap", "transport", "transport.shm", "verbs")),
              Map.entry("transport.shm", Set.of("bootstrap", "transport")),
              Map.entry("verbs", Set.of("ffi"))));

  /** Every breach, in words; empty if there is none. */
  List<String> breaches(JavaClasses classes) {
    List<String> breaches = new ArrayList<>();
    Map<String, Integer> written = new TreeMap<>();
    for (JavaClass type : classes) {
      if (!type.getSimpleName().equals("package-info") && !type.getName().equals("module-info")) {
        String from = below(type);
        written.merge(from, 1, Integer::sum);
        if (allowed.containsKey(from)) {
          type.getDirectDependenciesFromSelf().forEach(use -> check(from, use, breaches));
        } else {
          breaches.add(type.getName() + " is in package " + from + ", which has no place here");
        }
      }
    }
    for (String name : allowed.keySet()) {
      if (!written.containsKey(name)) {
        breaches.add("package " + name + " is empty");
      }
    }
    return breaches;
  }

  private void check(String from, Dependency use, List<String> breaches) {
    JavaClass target = use.getTargetClass().getBaseComponentType();
    if (!target.getPackageName().startsWith(root + ".")) {
      return;
    }
    String to = below(target);
    if (!to.equals(from) && !allowed.getOrDefault(from, Set.of()).contains(to)) {
      breaches.add(from + " may not know " + to + ": " + use.getDescription());
    }
  }

  private String below(JavaClass type) {
    String name = type.getPackageName();
    return name.startsWith(root + ".") ? name.substring(root.length() + 1) : name;
  }
}
