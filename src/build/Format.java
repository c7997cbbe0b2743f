import com.google.googlejavaformat.java.Formatter;
import com.google.googlejavaformat.java.ImportOrderer;
import com.google.googlejavaformat.java.JavaFormatterOptions;
import com.google.googlejavaformat.java.RemoveUnusedImports;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** Checks ("check") or rewrites ("write") every written Java source of the project. */
class Format {
  private static final List<String> ROOTS =
      List.of("src/main", "src/test", "src/jmh", "src/build", "it-tests", "examples");

  public static void main(String[] args) throws Exception {
    boolean write = args[0].equals("write");
    Formatter formatter = new Formatter();
    List<Path> different = new ArrayList<>();
    for (Path file : sources()) {
      String text = Files.readString(file);
      String formatted = format(formatter, file, text);
      if (!formatted.equals(text)) {
        different.add(file);
        if (write) {
          Files.writeString(file, formatted);
        }
      }
    }
    different.forEach(
        file -> System.out.println((write ? "formatted " : "not formatted: ") + file));
    if (!write && !different.isEmpty()) {
      System.out.println("To format: mvn -q process-sources -Dformat=write");
      System.exit(1);
    }
  }

  private static String format(Formatter formatter, Path file, String text) {
    try {
      String imports =
          ImportOrderer.reorderImports(
              RemoveUnusedImports.removeUnusedImports(text), JavaFormatterOptions.Style.GOOGLE);
      return formatter.formatSource(imports);
    } catch (Exception e) {
      throw new IllegalStateException(file + ": " + e.getMessage(), e);
    }
  }

  private static List<Path> sources() throws IOException {
    List<Path> sources = new ArrayList<>();
    for (String root : ROOTS) {
      if (Files.isDirectory(Path.of(root))) {
        try (Stream<Path> files = Files.walk(Path.of(root))) {
          files.filter(file -> file.toString().endsWith(".java")).forEach(sources::add);
        }
      }
    }
    return sources;
  }
}
