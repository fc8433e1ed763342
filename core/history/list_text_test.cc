#include "core/history/list_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace zomboss::history {
namespace {

TEST(ListText, AnyBytesReadBack) {
  const std::vector<std::vector<std::string>> lists = {
      {}, {""}, {"", ""}, {"search", "a b", "-o", "x:y\n\t'\""}, {std::string("\0:3", 3), "ä"}, {"3:abc"}};
  for (const auto& list : lists) {
    const auto read = split_list(join_list(list));
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, list);
  }
  EXPECT_EQ(join_list(std::vector<std::string>{"ab", ""}), "2:ab0:");
}

TEST(ListText, DamageIsDataLoss) {
  for (const char* text : {"x", "3", "3:ab", "2:abc", ":", "-1:", "99999999999999999999:a", "1:a2"}) {
    EXPECT_EQ(split_list(text).status().code(), Code::kDataLoss) << text;
  }
}

TEST(ListText, CountersKeepTheirValues) {
  const std::vector<std::pair<std::string, double>> counters = {
      {"cycles", 123456789},
      {"share", 0.1},
      {"tiny", 5e-324},
      {"none", -0.0},
      {"huge", std::numeric_limits<double>::infinity()},
      {"a:b", 1.0 / 3}};
  const auto read = split_counters(join_counters(counters));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, counters);
  EXPECT_EQ(split_counters("1:a").status().code(), Code::kDataLoss);
  EXPECT_EQ(split_counters("1:a3:1.x").status().code(), Code::kDataLoss);
  EXPECT_EQ(split_counters("1:a0:").status().code(), Code::kDataLoss);
}

}  // namespace
}  // namespace zomboss::history
