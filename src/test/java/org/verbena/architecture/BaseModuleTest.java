package org.verbena.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleDescriptor.Requires;
import java.lang.module.ModuleFinder;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** An engine that links the library gets nothing else with it. */
class BaseModuleTest {
  private static final Set<String> BASE = Object.class.getModule().getPackages();

  @Test
  void nothingButTheBaseModuleIsRequiredAtRunTime() {
    ModuleDescriptor module =
        ModuleFinder.of(Path.of("target/classes")).find("org.verbena").orElseThrow().descriptor();
    assertThat(module.requires())
        .filteredOn(requires -> !requires.modifiers().contains(Requires.Modifier.STATIC))
        .extracting(Requires::name)
        .containsExactly("java.base");
  }

  /** What is there at compile time only is used where it may be missing, and nowhere else. */
  @Test
  void otherModulesAreUsedInTheirPlacesOnly() {
    Set<String> uses = new TreeSet<>();
    for (JavaClass type :
        new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("org.verbena")) {
      for (Dependency use : type.getDirectDependenciesFromSelf()) {
        String target = use.getTargetClass().getBaseComponentType().getPackageName();
        if (!isPlain(target)) {
          uses.add(type.getPackageName() + " uses " + target);
        }
      }
    }
    assertThat(uses)
        .contains("org.verbena.moe uses jdk.incubator.vector")
        .allMatch(
            use ->
                use.equals("org.verbena.moe uses jdk.incubator.vector")
                    || use.startsWith("org.verbena.cli uses "));
  }

  private static boolean isPlain(String target) {
    return target.isEmpty() // Primitive types.
        || BASE.contains(target)
        || target.startsWith("org.verbena")
        || target.equals("org.jspecify.annotations");
  }
}
