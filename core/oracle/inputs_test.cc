#include "core/oracle/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/oracle/test_util.h"

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

TEST(Generate, WeightsShrinkWithTheirFanIn) {
  Generator generator{Distribution::kNormal, 0, 2};
  generator.fan_in_dim = 1;
  const auto values = tensor_values<float>(*generate(generator, DType::F32, {40, 100}, 1, 0));
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  EXPECT_NEAR(std::sqrt(squares / 4000), 0.2, 0.01);
  EXPECT_EQ(generate(generator, DType::F32, {40}, 1, 0).status().message(),
            "fan_in_dim is 1, the input has 1 dims");
}

TEST(Generate, InputsAreRoundedThroughTheirStorageFormat) {
  const hlo::Module module =
      parse_entry("x = f32[4,16] parameter(0)\nw = f32[4,16] parameter(1)\nROOT y = f32[4,16] add(x, w)");
  const auto plain = generate_inputs(module, 1);
  const auto rounded = generate_inputs(module, 1, {}, {{"w", Storage::kMxfp8}});
  ASSERT_TRUE(plain.ok() && rounded.ok());
  EXPECT_EQ((*plain)[0], (*rounded)[0]);
  Tensor expected = (*plain)[1];
  ASSERT_TRUE(round_nearest(expected, Storage::kMxfp8).ok());
  EXPECT_NE((*plain)[1], (*rounded)[1]);
  EXPECT_EQ(expected, (*rounded)[1]);
}

TEST(Generate, RefusesTypesItCannotMakeAndSizesThatDoNotFit) {
  EXPECT_FALSE(generate({}, DType::C64, {2}, 1, 0).ok());
  EXPECT_FALSE(generate({}, DType::S8, {int64_t{1} << 40}, 1, 0).ok());
}

}  // namespace
}  // namespace zomboss::oracle
