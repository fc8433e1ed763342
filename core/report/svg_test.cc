#include "core/report/svg.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/report/words.h"

namespace zomboss::report {
namespace {

TEST(Scale, LinearTicksAreRoundAndInside) {
  const Scale scale = Scale::linear(17'078, 98'304, 400, 40);
  EXPECT_EQ(scale.low(), 0);
  EXPECT_EQ(scale.high(), 100'000);
  EXPECT_EQ(scale.ticks(), (std::vector<double>{0, 20'000, 40'000, 60'000, 80'000, 100'000}));
  EXPECT_EQ(scale(0), 400);
  EXPECT_EQ(scale(100'000), 40);
  EXPECT_EQ(scale(-5), 400);  // clamped
}

TEST(Scale, EveryRangeHasAFewTicksThatDoNotTouch) {
  for (const double low : {0.0, 0.001, 1.0, 17.0, 99'999.0, 3e9}) {
    for (const double factor : {1.0, 1.0001, 1.5, 3.0, 10.0, 1e3, 1e7}) {
      const double high = low * factor;
      const Scale scale = Scale::fitting(low, high, 400, 40);
      ASSERT_GE(scale.ticks().size(), 2u) << low << " to " << high;
      ASSERT_LE(scale.ticks().size(), 10u) << low << " to " << high;
      EXPECT_LE(scale.low(), low);
      EXPECT_GE(scale.high(), high);
      for (size_t i = 1; i < scale.ticks().size(); ++i)
        EXPECT_GE(scale(scale.ticks()[i - 1]) - scale(scale.ticks()[i]), 14) << low << " to " << high;
    }
  }
}

TEST(Scale, WideRangesAreLogarithmic) {
  EXPECT_FALSE(Scale::fitting(30, 100, 0, 300).is_logarithmic());
  const Scale scale = Scale::fitting(10, 1000, 300, 0);
  EXPECT_TRUE(scale.is_logarithmic());
  EXPECT_NEAR(scale(100), 150, 1e-9);
}

TEST(Svg, StepsAndBandsSkipWhatDoesNotMove) {
  EXPECT_EQ(step_path({0, 10, 20, 30}, {5, 5, 2, 2}, 40), "M0,5H20V2H40");
  EXPECT_EQ(step_path({}, {}, 40), "");
  EXPECT_EQ(band_path({0, 10}, {8, 6}, {5, 2}, 40), "M0,5H10V2H40V6H10V8H0Z");
  EXPECT_EQ(pixels(1.04), "1");
  EXPECT_EQ(pixels(-0.01), "0");
  EXPECT_EQ(pixels(12.25), "12.3");
}

TEST(Svg, TextIsEscaped) {
  Svg svg(10, 10, "a \"label\"");
  svg.text(1, 2, "<b>");
  svg.circle(1, 1, 1, "c", "x < y");
  EXPECT_EQ(svg.finish(),
            "<svg viewBox=\"0 0 10 10\" width=\"10\" height=\"10\" role=\"img\" aria-label=\"a "
            "&quot;label&quot;\" >"
            "<text x=\"1\" y=\"2\">&lt;b&gt;</text>"
            "<circle class=\"c\" cx=\"1\" cy=\"1\" r=\"1\"><title>x &lt; y</title></circle></svg>");
}

TEST(Spread, KeepsTheOrderTheGapAndTheLimits) {
  EXPECT_EQ(spread({100, 200}, 30, 0, 400), (std::vector<double>{100, 200}));
  const std::vector<double> close = spread({102, 100, 101}, 30, 0, 400);
  EXPECT_EQ(close, (std::vector<double>{131, 71, 101}));
  for (const std::vector<double>& wanted :
       {std::vector<double>{0, 0, 0, 0}, std::vector<double>{399, 398, 10, 400},
        std::vector<double>{50, 60, 55, 390}}) {
    const std::vector<double> placed = spread(wanted, 30, 0, 400);
    for (size_t i = 0; i < placed.size(); ++i) {
      EXPECT_GE(placed[i], -1e-9);
      EXPECT_LE(placed[i], 400 + 1e-9);
      for (size_t j = 0; j < i; ++j) {
        EXPECT_GE(std::abs(placed[i] - placed[j]), 30 - 1e-9);
        EXPECT_TRUE(wanted[i] == wanted[j] || (wanted[i] < wanted[j]) == (placed[i] < placed[j]));
      }
    }
  }
}

}  // namespace
}  // namespace zomboss::report
