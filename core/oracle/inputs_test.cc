#include "core/oracle/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace zomboss::oracle {
namespace {

TEST(Generate, DependsOnSeedAndInputAlone) {
  const auto make = [](uint64_t seed, uint64_t input) {
    return *generate(default_generator(DType::S8), DType::S8, {64}, seed, input);
  };
  EXPECT_EQ(make(1, 0), make(1, 0));
  EXPECT_NE(make(1, 0).bytes, make(2, 0).bytes);
  EXPECT_NE(make(1, 0).bytes, make(1, 1).bytes);
}

TEST(Generate, CoversTheFullRangeOfInt8AndKeepsToStatedBounds) {
  const auto wide = tensor_values<int8_t>(*generate(default_generator(DType::S8), DType::S8, {4096}, 1, 0));
  EXPECT_EQ(*std::min_element(wide.begin(), wide.end()), -128);
  EXPECT_EQ(*std::max_element(wide.begin(), wide.end()), 127);
  const auto narrow =
      tensor_values<int8_t>(*generate({Distribution::kUniform, -3, 2}, DType::S8, {4096}, 1, 0));
  EXPECT_EQ(*std::min_element(narrow.begin(), narrow.end()), -3);
  EXPECT_EQ(*std::max_element(narrow.begin(), narrow.end()), 2);
}

TEST(Generate, RefusesTypesItCannotMakeAndSizesThatDoNotFit) {
  EXPECT_FALSE(generate({}, DType::C64, {2}, 1, 0).ok());
  EXPECT_FALSE(generate({}, DType::S8, {int64_t{1} << 40}, 1, 0).ok());
}

}  // namespace
}  // namespace zomboss::oracle
