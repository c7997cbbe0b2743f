package org.verbena.verbs;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The way in: which devices there are, and opening them. {@code libibverbs.so.1} is loaded when
 * first needed here; all else in this library works without it. Thread-safe.
 */
public final class Verbs {
  private static final String LIBRARY = "libibverbs.so.1";
  private static final Path SYSFS = Path.of("/sys/class/infiniband");

  private Verbs() {}

  /** Whether a device can be opened. */
  public static boolean isAvailable() {
    return unavailabilityCause().isEmpty();
  }

  /** Why no device can be opened, and what to do; empty if one can. */
  public static Optional<String> unavailabilityCause() {
    Optional<String> problem = libraryProblem(LIBRARY);
    return problem.isPresent() ? problem : deviceProblem(driver(), SYSFS);
  }

  /** Why {@code library} cannot be used, if so. */
  @SuppressWarnings("restricted")
  static Optional<String> libraryProblem(String library) {
    try {
      SymbolLookup.libraryLookup(library, Arena.ofAuto());
      return Optional.empty();
    } catch (IllegalCallerException e) {
      Module module = Verbs.class.getModule();
      return Optional.of(
          "native access is denied to this library; start java with --enable-native-access="
              + (module.isNamed() ? module.getName() : "ALL-UNNAMED"));
    } catch (IllegalArgumentException e) {
      return Optional.of(
          library
              + " was not found by the dynamic loader; install it: apt-get install libibverbs1"
              + " ibverbs-providers (Debian, Ubuntu), dnf install libibverbs (Fedora, RHEL)");
    }
  }

  /** Why no device of {@code driver} can be opened, if so. */
  static Optional<String> deviceProblem(Driver driver, Path sysfs) {
    List<Driver.Found> found = list(driver);
    if (found.isEmpty()) {
      List<String> known = names(sysfs);
      return Optional.of(
          known.isEmpty()
              ? "this host has no RDMA device: load the driver of the card (modprobe mlx5_ib, ...)"
                  + " and ib_uverbs, or make a soft one: modprobe rdma_rxe, then rdma link add rxe0"
                  + " type rxe netdev eth0"
              : "the kernel has "
                  + known
                  + " but libibverbs has no driver for it: apt-get install ibverbs-providers, and"
                  + " modprobe ib_uverbs");
    }
    try (Devices devices = openAll(driver)) {
      return devices.opened().isEmpty()
          ? Optional.of("no device can be opened:\n  " + String.join("\n  ", devices.reasons()))
          : Optional.empty();
    }
  }

  private static List<String> names(Path folder) {
    try (Stream<Path> entries = Files.list(folder)) {
      return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
    } catch (IOException e) {
      return List.of();
    }
  }

  /** The library fails to list where the kernel has no verbs at all. */
  private static List<Driver.Found> list(Driver driver) {
    try {
      return driver.devices();
    } catch (Errno e) {
      return List.of();
    }
  }

  private static Driver driver() {
    Optional<String> problem = libraryProblem(LIBRARY);
    if (problem.isPresent()) {
      throw new VerbsException("loading " + LIBRARY, "this host", 0, problem.get());
    }
    return new Libibverbs();
  }

  /** The names of all devices, whether they can be opened or not. */
  public static List<String> deviceNames() {
    return list(driver()).stream().map(Driver.Found::name).toList();
  }

  /** Opens the device {@code name}. */
  public static Context open(String name) {
    return Context.open(driver(), name);
  }

  /** Opens all devices that can be opened. */
  public static Devices openAll() {
    return openAll(driver());
  }

  static Devices openAll(Driver driver) {
    List<Context> opened = new ArrayList<>();
    Map<String, VerbsException> passedOver = new LinkedHashMap<>();
    for (Driver.Found found : list(driver)) {
      try {
        opened.add(Context.open(driver, found.name()));
      } catch (VerbsException e) {
        passedOver.put(found.name(), e);
      }
    }
    return new Devices(opened, passedOver);
  }

  /**
   * Opens the device with the best path that {@code selector} allows.
   *
   * @throws VerbsException if there is none, naming what there is and why it was rejected
   */
  public static PathChoice open(PathSelector selector) {
    Driver driver = driver();
    if (list(driver).isEmpty()) {
      String problem = deviceProblem(driver, SYSFS).orElse("the devices come and go");
      throw new VerbsException("ibv_open_device", "this host", 0, problem);
    }
    return open(driver, selector);
  }

  static PathChoice open(Driver driver, PathSelector selector) {
    Devices devices = openAll(driver);
    List<Context> rest = new ArrayList<>(devices.opened());
    try {
      PathSelector.Result result =
          selector.choose(
              PathSelector.candidates(devices.opened()),
              PathSelector.localGids(),
              devices.reasons());
      Context chosen =
          devices.opened().stream()
              .filter(context -> context.name().equals(result.path().device()))
              .findFirst()
              .orElseThrow();
      rest.remove(chosen);
      return new PathChoice(chosen, result.path(), result.reason(), result.rejected());
    } finally {
      Resource.runAll(rest.stream().<Runnable>map(context -> context::close).toList());
    }
  }
}
