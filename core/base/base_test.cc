#include <gtest/gtest.h>

#include <vector>

#include "core/base/hash.h"
#include "core/base/source.h"
#include "core/base/text.h"
#include "zomboss/sdk/random.h"

namespace zomboss {
namespace {

// The known-answer vectors that the authors of Philox publish with Random123 (kat_vectors, philox4x32 10).
TEST(Random, PhiloxGivesThePublishedVectors) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, SkipToContinuesTheStream) {
  Random a(7, 3);
  std::vector<uint32_t> words;
  for (int i = 0; i < 11; ++i) words.push_back(a.next_u32());
  for (uint64_t i = 0; i < words.size(); ++i) {
    Random b(7, 3);
    b.skip_to(i);
    EXPECT_EQ(b.next_u32(), words[i]);
  }
}

TEST(Random, BetweenCoversBothEndsAndTheFullRange) {
  Random random(1, 0);
  bool low = false, high = false;
  for (int i = 0; i < 200; ++i) {
    const int64_t value = random.between(-2, 2);
    ASSERT_TRUE(value >= -2 && value <= 2);
    low |= value == -2;
    high |= value == 2;
  }
  EXPECT_TRUE(low && high);
  random.between(INT64_MIN, INT64_MAX);
}

TEST(Hash, IsStableAcrossReleases) {
  EXPECT_EQ(hash_bytes("").hex(), "99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing, seed 0
  EXPECT_NE(hash_bytes("a"), hash_bytes("b"));
}

TEST(Source, LocatesInAllLineEnds) {
  const Source source("f", "a\nbc\r\nd\re");
  EXPECT_EQ(source.location(0), (Location{1, 1}));
  EXPECT_EQ(source.location(3), (Location{2, 2}));
  EXPECT_EQ(source.location(6), (Location{3, 1}));
  EXPECT_EQ(source.location(8), (Location{4, 1}));
  EXPECT_EQ(source.location(99), (Location{4, 2}));
  EXPECT_EQ(source.line(2), "bc");
  EXPECT_EQ(source.line(5), "");
}

TEST(Diagnostics, RendersFileLineColumnCaretAndHint) {
  const Source source("m.hlo", "one\n  two\n");
  Diagnostics diagnostics(source);
  diagnostics.warning({1, 1}, "odd");
  EXPECT_TRUE(diagnostics.status().ok());
  diagnostics.error({2, 3}, "unknown word 'two'", "write 'one'");
  EXPECT_EQ(diagnostics.status().message(),
            "m.hlo:2:3: error: unknown word 'two'\n    two\n    ^\n  hint: write 'one'");
}

TEST(Diagnostics, ElidesLongLinesAroundTheCaret) {
  const Source source("m", std::string(5000, 'x') + "!" + std::string(5000, 'y'));
  Diagnostics diagnostics(source);
  diagnostics.error({1, 5001}, "bad");
  const std::string text = diagnostics.status().message();
  EXPECT_LT(text.size(), 300u);
  const size_t caret = text.rfind('^') - text.rfind('\n');
  const size_t line = text.find('\n') + 1;
  EXPECT_EQ(text[line + caret - 1], '!');
}

TEST(Text, SuggestsTheNearestNameOnlyWhenNear) {
  const std::vector<std::string> names = {"tile_m", "tile_n", "buffering"};
  EXPECT_EQ(did_you_mean("tile_mm", names), "; did you mean 'tile_m'?");
  EXPECT_EQ(did_you_mean("bufering", names), "; did you mean 'buffering'?");
  EXPECT_EQ(did_you_mean("title_m", names), "; did you mean 'tile_m'?");
  EXPECT_EQ(did_you_mean("zebra", names), "");
  const std::vector<std::string> keys = {"hlo"};
  EXPECT_EQ(did_you_mean("hol", keys), "; did you mean 'hlo'?");
}

TEST(Text, FormatsBytes) {
  EXPECT_EQ(format_bytes(300), "300 B");
  EXPECT_EQ(format_bytes(98304), "96 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
}

}  // namespace
}  // namespace zomboss
