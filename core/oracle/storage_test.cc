// Storage formats: the rounding of inputs against the set of all representable values, the store quantiser
// against stores that the PLENA emulator made.
#include "core/oracle/storage.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

#include "core/hlo/number.h"
#include "zomboss/sdk/random.h"

namespace zomboss::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

// All finite elements from 0 up, from the definition of the format.
std::vector<double> elements() {
  std::vector<double> values;
  for (int m = 0; m < 8; ++m) values.push_back(m / 8.0 * 0x1p-7);
  for (int field = 1; field < 15; ++field)
    for (int m = 0; m < 8; ++m) values.push_back((1 + m / 8.0) * std::ldexp(1.0, field - 7));
  return values;
}

bool representable(double value, int scale) {
  static const std::vector<double> kElements = elements();
  const double element = std::ldexp(std::fabs(value), -scale);
  return std::find(kElements.begin(), kElements.end(), element) != kElements.end();
}

// The distance to the nearest representable value.
double best_error(double value, int scale) {
  double best = kInfinity;
  for (const double element : elements())
    best = std::min(best, std::fabs(std::fabs(value) - std::ldexp(element, scale)));
  return best;
}

std::vector<double> rounded(std::vector<double> block) {
  round_nearest_block(block);
  return block;
}

std::vector<float> stored(std::vector<float> block) {
  round_store_block(block);
  return block;
}

double largest_of(const std::vector<double>& block) {
  double largest = 0;
  for (const double value : block) largest = std::max(largest, std::fabs(value));
  return largest;
}

// What an encoder relies on, for a block of finite values.
void check_block(const std::vector<double>& block) {
  const std::vector<double> result = rounded(block);
  EXPECT_EQ(rounded(result), result);
  const double largest = largest_of(result);
  if (largest == 0) return;
  const int scale = std::ilogb(largest) - 6;
  const auto fits = [&](int s) {
    return std::all_of(result.begin(), result.end(), [&](double v) { return representable(v, s); });
  };
  EXPECT_TRUE(fits(scale) || fits(scale - 1)) << testing::PrintToString(block);
  for (const double value : result) {
    const auto single = static_cast<float>(value);
    EXPECT_EQ(single, value);
    EXPECT_EQ(std::bit_cast<uint32_t>(single) & 0xFFFFu, 0u) << "not exact in bf16: " << value;
  }
  const int of_input = std::ilogb(largest_of(block)) - 6;
  if (of_input > 120 || rounded(block) == block) return;
  for (size_t i = 0; i < block.size(); ++i)
    EXPECT_EQ(std::fabs(result[i] - block[i]), best_error(block[i], of_input)) << block[i];
}

TEST(StorageRoundNearest, IsNearestAndIdempotentOnRandomBlocks) {
  Random random(7, 0);
  for (int n = 0; n < 3000; ++n) {
    std::vector<double> block(static_cast<size_t>(random.between(1, 8)));
    const double spread = static_cast<double>(random.between(0, 12));
    const auto centre = static_cast<int>(random.between(-100, 100));
    for (double& value : block)
      value = static_cast<double>(
          static_cast<float>(std::ldexp(random.normal() * std::exp2(spread * random.normal() / 4), centre)));
    check_block(block);
  }
}

TEST(StorageRoundNearest, IsNearestAndIdempotentOnTheEdgesOfTheFormat) {
  const std::vector<double> edges = {0,           -0.0,        1,          0x1p-6,     0x1p-7,  7 * 0x1p-10,
                                     11.5 / 1024, 11.4 / 1024, 8.0 / 1024, 0.5 / 1024, 127,     126.5,
                                     124,         123.9,       64,         63.9,       119.999, 0x1.fffffep6,
                                     1.0625,      1.1875,      0x1p-17,    -128,       240};
  for (const int centre : {0, 1, -1, 57, -100, -116, -117, -118, -140, 110, 119, 120, 121})
    for (const double a : edges)
      for (const double b : edges) check_block({std::ldexp(a, centre), std::ldexp(-b, centre)});
}

TEST(StorageRoundNearest, HandComputedBlocks) {
  EXPECT_EQ(rounded({0, 0, 0}), (std::vector<double>{0, 0, 0}));
  // Scale 2^-6: 1 is element 64, so steps are 1/8 of the power of two.
  EXPECT_EQ(rounded({1, 1.0625, 1.1875, 1.07, 0.3, -0.01}),
            (std::vector<double>{1, 1, 1.25, 1.125, 0.3125, -0.009765625}));
  // 127.5 / 128 rounds up to the next power of two.
  EXPECT_EQ(rounded({255, 3}), (std::vector<double>{256, 3}));
  EXPECT_EQ(rounded({kInfinity, 1.03})[0], kInfinity);
  EXPECT_EQ(rounded({kInfinity, 1.03})[1], 1);
  EXPECT_TRUE(std::isnan(rounded({kNan, 1.03})[0]));
  EXPECT_EQ(rounded({0x1p-118, 0x1p-130}), (std::vector<double>{0, 0}));
  EXPECT_EQ(rounded({0x1.fffffep127}), (std::vector<double>{0x1.ep127}));
}

TEST(StorageRoundNearest, TakesBlocksAlongTheLastDimOnly) {
  // Rows of 9: the ninth value is a block of its own and keeps its precision relative to itself.
  std::vector<float> values(18, 1000.0f);
  values[8] = 0.0123f;
  values[17] = -0.0123f;
  Tensor tensor = make_tensor<float>(DType::F32, {2, 9}, values);
  ASSERT_TRUE(round_nearest(tensor, Storage::kMxfp8).ok());
  const auto result = tensor_values<float>(tensor);
  EXPECT_EQ(result[0], 1024.0f);
  EXPECT_EQ(result[8], 0.0126953125f);
  EXPECT_EQ(result[17], -0.0126953125f);
  Tensor integers = make_tensor<int8_t>(DType::S8, {1}, {3});
  EXPECT_EQ(round_nearest(integers, Storage::kMxfp8).message(),
            "s8 elements cannot be stored as mxfp8, only bf16, f32 and f64 can");
  EXPECT_TRUE(round_nearest(integers, Storage::kExact).ok());
}

TEST(StorageRoundStore, HandComputedBlocks) {
  const float nan = std::nanf("");
  EXPECT_EQ(stored({0, 0}), (std::vector<float>{0, 0}));
  EXPECT_EQ(stored({nan, 0}), (std::vector<float>{0, 0}));
  // Scale 4; a NaN becomes the scale.
  EXPECT_EQ(stored({nan, 4}), (std::vector<float>{4, 4}));
  // Steps of 1/8: 0.74 of a step is cut to 0.5 and goes to the even neighbour, 0.75 goes up.
  EXPECT_EQ(stored({1 + 0.74f / 8, 1 + 0.76f / 8, 1 + 1.5f / 8, 1 + 1.49f / 8}),
            (std::vector<float>{1, 1.125f, 1.25f, 1.125f}));
  // No carry: 1.97 stays below 2.
  EXPECT_EQ(stored({1.97f, -1.99f}), (std::vector<float>{1.875f, -1.875f}));
  // From 2^-7 to 2^-6 of the scale everything is 7/8 * 2^-7; below it steps of 2^-10.
  EXPECT_EQ(stored({1, 0x1p-7f, 0x1.fp-7f, 0x1p-6f, 0x1p-8f, 0x1p-12f}),
            (std::vector<float>{1, 0x1.cp-8f, 0x1.cp-8f, 0x1p-6f, 0x1p-8f, 0}));
  // The 1e-9 keeps the scale from falling below 2^-30.
  EXPECT_EQ(stored({0x1p-40f}), (std::vector<float>{0x1p-40f}));
  EXPECT_EQ(stored({0x1p-41f}), (std::vector<float>{0}));
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(stored({inf, -inf, 1}), (std::vector<float>{inf, -inf, 0}));
  EXPECT_FALSE(std::signbit(stored({1, -0.0f})[1]));
  EXPECT_TRUE(std::signbit(stored({1, -0x1p-20f})[1]));
}

TEST(StorageRoundStore, StoresFromBf16) {
  // 1.09374 lies below the quarter step 1.09375 that rounds up, its nearest bf16 on it.
  std::vector<double> values = {1.09374, 1};
  round_store(values, std::vector<int64_t>{2}, 0);
  EXPECT_EQ(values, (std::vector<double>{1.125, 1}));
  EXPECT_EQ(stored({1.09374f, 1}), (std::vector<float>{1, 1}));
}

TEST(StorageRoundStore, TakesBlocksAlongAnyDim) {
  // [3, 10] along dim 0 and [10, 3] along dim 0, against columns taken out by hand.
  Random random(3, 0);
  for (const int64_t dim : {0, 1}) {
    const std::array<int64_t, 2> dims = {11, 10};
    std::vector<double> values(110);
    for (double& value : values) value = random.normal() * std::exp2(random.normal() * 4);
    std::vector<double> result = values;
    round_store(result, dims, dim);
    const size_t stride = dim == 0 ? 10 : 1, length = dim == 0 ? 11 : 10;
    for (size_t line = 0; line < 110 / length; ++line) {
      const size_t first = dim == 0 ? line : line * 10;
      for (size_t start = 0; start < length; start += 8) {
        std::vector<float> block;
        for (size_t i = start; i < std::min(length, start + 8); ++i)
          block.push_back(static_cast<float>(
              hlo::decode(DType::BF16, hlo::encode(DType::BF16, values[first + i * stride]))));
        round_store_block(block);
        for (size_t i = 0; i < block.size(); ++i)
          EXPECT_EQ(result[first + (start + i) * stride], static_cast<double>(block[i]));
      }
    }
  }
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

// Element number -> bf16 bits, of records {offset, length, bytes}; absent elements are 0.
std::map<uint64_t, uint16_t> read_sparse(std::string_view bytes) {
  std::map<uint64_t, uint16_t> elements;
  while (bytes.size() >= 16) {
    const uint64_t offset = little_endian(bytes.substr(0, 8)), length = little_endian(bytes.substr(8, 8));
    bytes.remove_prefix(16);
    for (uint64_t i = 0; i + 1 < length && i + 1 < bytes.size(); i += 2)
      elements[(offset + i) / 2] = static_cast<uint16_t>(little_endian(bytes.substr(i, 2)));
    bytes.remove_prefix(std::min<size_t>(length, bytes.size()));
  }
  return elements;
}

float bf16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

// These programs store their first rows of vector memory and load them again behind each other.
class StorageGolden : public testing::TestWithParam<std::pair<const char*, uint64_t>> {};

TEST_P(StorageGolden, StoredAndLoadedRowsAgreeBitForBit) {
  const auto [program, loaded_at] = GetParam();
  std::filesystem::path folder = std::filesystem::path(ZB_GOLDEN_DIR) / "plena" / program;
  if (!std::filesystem::exists(folder))
    folder = std::filesystem::path(ZB_SOURCE_DIR) / "tests/golden/plena" / program;
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no reference vectors: " << folder;
  const std::string before = read_file(folder / "vram.bin");
  auto after = read_sparse(read_file(folder / "vram.sparse"));
  const uint64_t rows = std::string_view(program) == "store_quant" ? 12 : 32;
  std::vector<float> block(kStorageBlock);
  int compared = 0;
  for (uint64_t first = 0; first < rows * 64; first += kStorageBlock) {
    for (uint64_t i = 0; i < kStorageBlock; ++i) {
      const uint64_t at = (first + i) * 2;
      block[i] =
          at + 2 > before.size() ? 0 : bf16(static_cast<uint16_t>(little_endian(before.substr(at, 2))));
    }
    const std::vector<float> result = stored(block);
    for (uint64_t i = 0; i < kStorageBlock; ++i) {
      const float expected = bf16(after[loaded_at + first + i]);
      compared += expected != 0 ? 1 : 0;
      EXPECT_EQ(std::bit_cast<uint32_t>(result[i]), std::bit_cast<uint32_t>(expected))
          << "element " << first + i << " is " << block[i] << ", stored " << result[i] << ", expected "
          << expected;
    }
  }
  EXPECT_GT(compared, 300);
}

INSTANTIATE_TEST_SUITE_P(Plena, StorageGolden,
                         testing::Values(std::pair("store_quant", 1024u), std::pair("store_random0", 2048u),
                                         std::pair("store_random1", 2048u)),
                         [](const auto& info) { return std::string(info.param.first); });

}  // namespace
}  // namespace zomboss::oracle
