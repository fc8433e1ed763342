#include "core/report/words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace zomboss::report {
namespace {

TEST(Words, EscapeKeepsTextAndDisarmsMarkup) {
  EXPECT_EQ(escape("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escape("größe 3 µs ✓ 🙂\n\t"), "größe 3 µs ✓ 🙂\n\t");
}

TEST(Words, EscapeReplacesWhatIsNoText) {
  const std::string replacement = "\xef\xbf\xbd";
  EXPECT_EQ(escape(std::string("a\0b", 3)), "a" + replacement + "b");
  EXPECT_EQ(escape("\x1b[31m"), replacement + "[31m");
  EXPECT_EQ(escape("\xff"), replacement);
  EXPECT_EQ(escape("\xc3"), replacement);                                      // cut
  EXPECT_EQ(escape("\xc0\xaf"), replacement + replacement);                    // overlong
  EXPECT_EQ(escape("\xed\xa0\x80"), replacement + replacement + replacement);  // surrogate
  EXPECT_EQ(escape("\xf4\x90\x80\x80").substr(0, 3), replacement);             // beyond Unicode
}

TEST(Words, ElideCountsCharacters) {
  EXPECT_EQ(elide("short", 5), "short");
  EXPECT_EQ(elide("abcdefghij", 7), "abcd…ij");
  EXPECT_EQ(elide("ääääääääää", 7), "ääää…ää");
  EXPECT_EQ(character_count(elide(std::string(500, 'x'), 60)), 60u);
}

TEST(Words, NumbersHaveSeparatorsAndUnits) {
  EXPECT_EQ(grouped(uint64_t{0}), "0");
  EXPECT_EQ(grouped(uint64_t{999}), "999");
  EXPECT_EQ(grouped(uint64_t{1000}), "1,000");
  EXPECT_EQ(grouped(std::numeric_limits<uint64_t>::max()), "18,446,744,073,709,551,615");
  EXPECT_EQ(grouped(1234.56, 1), "1,234.6");
  EXPECT_EQ(grouped(-1234.0, 0), "−1,234");
  EXPECT_EQ(grouped(-0.001, 1), "0.0");
  EXPECT_EQ(latency_text(18204, "cycles"), "18,204 cycles");
  EXPECT_EQ(latency_text(18204.5, ""), "18,204.5");
  EXPECT_EQ(ratio_text(3.14159), "3.14×");
  EXPECT_EQ(ratio_text(12.34), "12.3×");
  EXPECT_EQ(ratio_text(1234.4), "1,234×");
  EXPECT_EQ(ratio_text(0), "–");
  EXPECT_EQ(ratio_text(std::numeric_limits<double>::infinity()), "–");
  EXPECT_EQ(percent_text(0.1875), "18.8 %");
  EXPECT_EQ(percent_text(std::nan("")), "–");
  EXPECT_EQ(seconds_text(0.4), "0.40 s");
  EXPECT_EQ(seconds_text(59.4), "59 s");
  EXPECT_EQ(seconds_text(200), "3 min 20 s");
  EXPECT_EQ(seconds_text(7500), "2 h 5 min");
  EXPECT_EQ(count_text(1, "run", "runs"), "1 run");
  EXPECT_EQ(count_text(2000, "run", "runs"), "2,000 runs");
}

TEST(Words, AxisNumbersStayShort) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.2), "0.2");
  EXPECT_EQ(short_number(20000), "20,000");
  EXPECT_EQ(short_number(3e6), "3 M");
  EXPECT_EQ(short_number(2.5e6), "2.50 M");
  EXPECT_EQ(short_number(7e9), "7 G");
}

}  // namespace
}  // namespace zomboss::report
