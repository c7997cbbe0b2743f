package org.verbena.verbs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is said where verbs cannot be used, and which devices are taken. */
class VerbsTest {
  private final StandIn device = new StandIn();

  @TempDir private Path sysfs;

  @Test
  void aMissingLibraryIsNamedWithThePackage() {
    assertThat(Verbs.libraryProblem("libibverbs-that-is-not.so.1"))
        .get()
        .asString()
        .contains("libibverbs-that-is-not.so.1 was not found", "apt-get install libibverbs1");
  }

  @Test
  void askingThisHostNeverThrows() {
    assertThat(Verbs.isAvailable()).isEqualTo(Verbs.unavailabilityCause().isEmpty());
  }

  @Test
  void withoutAnyDeviceTheDriverIsToBeLoaded() {
    device.errors.put("get_device_list", 38);
    assertThat(Verbs.deviceProblem(device, sysfs.resolve("absent")))
        .get()
        .asString()
        .contains("no RDMA device", "modprobe", "type rxe");
  }

  @Test
  void aDeviceThatOnlyTheKernelKnowsLacksItsProvider() throws IOException {
    Files.createDirectory(sysfs.resolve("rxe0"));
    device.devices.clear();
    assertThat(Verbs.deviceProblem(device, sysfs))
        .get()
        .asString()
        .contains("[rxe0]", "ibverbs-providers");
  }

  @Test
  void devicesThatCannotBeOpenedAreNamedWithTheReason() {
    device.openErrors.put("fake0", Errno.EACCES);
    assertThat(Verbs.deviceProblem(device, sysfs))
        .get()
        .asString()
        .contains("fake0: cannot be opened", "EACCES", "--device /dev/infiniband");
  }

  @Test
  void anOpenableDeviceIsNoProblem() {
    assertThat(Verbs.deviceProblem(device, sysfs)).isEmpty();
    assertThat(device.calls).endsWith("open_device", "close_device");
  }

  @Test
  void aDeviceThatCannotBeOpenedIsPassedOver() throws IOException {
    device.devices.addFirst(new Driver.Found("broken", 1, 1, 0));
    device.openErrors.put("broken", 2);
    Gid loopback = Gid.of(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}));
    device.gids.add(new GidEntry(1, 5, loopback, GidType.ROCE_V2, 1));
    PathChoice choice = Verbs.open(device, PathSelector.ANY);
    assertThat(choice.path().device()).isEqualTo("fake0");
    assertThat(choice.path().gidIndex()).isEqualTo(5);
    assertThat(choice.rejected()).anyMatch(line -> line.startsWith("broken: cannot be opened"));
    assertThat(choice.context().isClosed()).isFalse();
    choice.context().close();

    assertThatThrownBy(() -> Verbs.open(device, new PathSelector("broken", 0, -1)))
        .hasMessageContaining("broken: cannot be opened");
  }

  @Test
  void aDeviceThatDoesNotExistIsNamed() {
    assertThatThrownBy(() -> Context.open(device, "nope"))
        .isInstanceOf(VerbsException.class)
        .hasMessageContainingAll("nope", "no such device");
  }

  @Test
  void noPublicSignatureShowsAGeneratedType() throws IOException {
    List<String> shown = new ArrayList<>();
    for (Class<?> type : publicTypes()) {
      Stream<Executable> executables =
          Stream.concat(
              Arrays.stream(type.getDeclaredMethods()),
              Arrays.stream(type.getDeclaredConstructors()));
      executables
          .filter(executable -> Modifier.isPublic(executable.getModifiers()))
          .filter(VerbsTest::mentionsGenerated)
          .forEach(executable -> shown.add(executable.toGenericString()));
    }
    assertThat(shown).isEmpty();
  }

  private static boolean mentionsGenerated(Executable executable) {
    Stream<Class<?>> types = Arrays.stream(executable.getParameterTypes());
    if (executable instanceof Method method) {
      types = Stream.concat(types, Stream.of(method.getReturnType()));
    }
    return types.anyMatch(type -> type.getName().startsWith("org.verbena.ffi"));
  }

  private static List<Class<?>> publicTypes() throws IOException {
    List<Class<?>> types = new ArrayList<>();
    Path folder = Path.of("target/classes/org/verbena/verbs");
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.filter(path -> path.toString().endsWith(".class")).toList()) {
        String name = file.getFileName().toString().replace(".class", "");
        if (!name.equals("package-info")) {
          Class<?> type = load("org.verbena.verbs." + name);
          if (Modifier.isPublic(type.getModifiers())) {
            types.add(type);
          }
        }
      }
    }
    assertThat(types).hasSizeGreaterThan(20);
    return types;
  }

  private static Class<?> load(String name) {
    try {
      return Class.forName(name);
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException(e);
    }
  }
}
