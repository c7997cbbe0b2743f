package org.verbena.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class LayeringTest {
  private static final String PLANTED = "org.verbena.architecture.planted";

  @Test
  void eachPackageKnowsOnlyThoseBelowIt() {
    ClassFileImporter importer =
        new ClassFileImporter().withImportOption(new ImportOption.DoNotIncludeTests());

    assertThat(Layering.VERBENA.breaches(importer.importPackages("org.verbena"))).isEmpty();
  }

  @Test
  void aPlantedBreachIsFound() {
    Layering layering = new Layering(PLANTED, Map.of("lower", Set.of(), "upper", Set.of("lower")));

    assertThat(layering.breaches(new ClassFileImporter().importPackages(PLANTED)))
        .isNotEmpty()
        .allMatch(breach -> breach.startsWith("lower may not know upper"));
  }

  @Test
  void anEmptyPackageIsFound() {
    Layering layering =
        new Layering(
            PLANTED, Map.of("lower", Set.of("upper"), "upper", Set.of(), "gone", Set.of()));

    assertThat(layering.breaches(new ClassFileImporter().importPackages(PLANTED)))
        .containsExactly("package gone is empty");
  }

  @Test
  void aPackageWithoutAPlaceIsFound() {
    Layering layering = new Layering(PLANTED, Map.of("upper", Set.of()));

    assertThat(layering.breaches(new ClassFileImporter().importPackages(PLANTED)))
        .containsExactly(PLANTED + ".lower.Lower is in package lower, which has no place here");
  }
}
