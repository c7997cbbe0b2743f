package org.verbena.layout;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.verbena.layout.LayoutOptions.Kind;

class LayoutTableTest {
  private static final ExchangeShape SHAPE = new ExchangeShape(8, 128, 7168, 288, 8);

  @Test
  void showsTheThreeNumbersAndEveryRegion() {
    var layout = new BufferLayout(SHAPE, LayoutOptions.of(Kind.RDMA));
    var table = LayoutTable.render(layout);
    assertThat(table)
        .contains("8 ranks, 128 tokens of 7168 values, 288 experts, top-8")
        .contains("117,522,432 bytes  112.1 MiB")
        .contains("2,146,961,792 bytes  2.0 GiB")
        .containsPattern("(?m)^   1  combine send +\\d[0-9,]+ +14,680,064$")
        .doesNotContain("saved", "allocation");
    assertThat(table.lines().filter(line -> line.matches(" +[01]  .*"))).hasSize(18);
  }

  @Test
  void saysWhatCompactSavedAndWhatScaleAdds() {
    var options = LayoutOptions.of(Kind.RDMA).withCompact(true).withScale(1.25);
    assertThat(LayoutTable.summary(new BufferLayout(SHAPE, options)))
        .containsPattern("saved \\(compact\\) +29,360,128 bytes  28.0 MiB")
        .contains("allocation (x 1.25)");
  }

  @Test
  void namesBytesInTheirUnit() {
    assertThat(LayoutTable.binary(0)).isEqualTo("0 B");
    assertThat(LayoutTable.binary(1023)).isEqualTo("1023 B");
    assertThat(LayoutTable.binary(1024)).isEqualTo("1.0 KiB");
    assertThat(LayoutTable.binary(Long.MAX_VALUE)).isEqualTo("8.0 EiB");
  }
}
