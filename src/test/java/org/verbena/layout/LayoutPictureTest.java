package org.verbena.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.verbena.layout.LayoutOptions.Kind;

class LayoutPictureTest {
  private static final ExchangeShape SHAPE = new ExchangeShape(8, 128, 7168, 288, 8);

  @Test
  void drawsARegionAsHighAsItsShare() {
    var layout = new BufferLayout(SHAPE, LayoutOptions.of(Kind.RDMA));
    var picture = LayoutPicture.svg(layout);
    var bar =
        Pattern.compile(
            "<rect x=\"24\" y=\"([0-9.]+)\" width=\"200\" height=\"([0-9.]+)\" fill=\"#");
    var bars = bar.matcher(picture).results().toList();
    var regions = layout.regions().subList(0, 9);
    assertThat(bars).hasSize(9);
    double pixel = layout.halfBytes() / 600.0;
    for (int i = 0; i < 9; i++) {
      double top = (Double.parseDouble(bars.get(i).group(1)) - 64) * pixel;
      double height = Double.parseDouble(bars.get(i).group(2)) * pixel;
      assertThat(top).isCloseTo((double) regions.get(i).offset(), within(pixel / 500));
      assertThat(height).isCloseTo((double) regions.get(i).bytes(), within(pixel / 500));
    }
  }

  @Test
  void namesEveryRegionOnce() {
    for (var kind : Kind.values()) {
      var layout = new BufferLayout(SHAPE, LayoutOptions.of(kind).withCompact(true));
      var picture = LayoutPicture.svg(layout);
      for (var region : layout.regions()) {
        assertThat(picture.split(">" + region.name() + "<", -1)).hasSize(2);
      }
    }
  }
}
