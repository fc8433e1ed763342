#include "core/oracle/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/oracle/numeric.h"

namespace zomboss::oracle {
namespace {

constexpr int kBias = 7;
constexpr int kTopExponent = 7;     // of a finite element
constexpr double kLargest = 240;    // 1.875 * 2^7
constexpr int kLowestScale = -123;  // below, subnormals are not exact in bf16
constexpr int kHighestScale = 120;  // above, the largest element is no finite f32

// Multiples of 1/8 of the power of two; below 2^-6 the subnormals m * 2^-10, and nothing from 8 to 15 of
// them.
double nearest_element(double magnitude) {
  constexpr double kTiny = 0x1p-10;
  const double tiny = magnitude / kTiny;
  if (tiny < 16) {
    if (tiny <= 7) return std::nearbyint(tiny) * kTiny;
    return tiny < 11.5 ? 7 * kTiny : 16 * kTiny;
  }
  const double step = std::ldexp(1.0, std::ilogb(magnitude) - 3);
  return std::min(std::nearbyint(magnitude / step) * step, kLargest);
}

double nearest_at(double value, int scale) {
  if (!std::isfinite(value)) return value;
  return std::copysign(std::ldexp(nearest_element(std::ldexp(std::fabs(value), -scale)), scale), value);
}

// As the machine has it: log2f, whose result is an integer already just below large powers of two.
int floor_log2f(float value) {
  const double exact = std::floor(static_cast<double>(std::log2(value)));
  return static_cast<int>(std::clamp(exact, -1000.0, 1000.0));
}

// Quarters are cut off below, then halves go to the even neighbour.
int cut_and_round(float steps) {
  return static_cast<int>(std::nearbyint(std::floor(steps * 4) / 4));
}

// What the code of this scaled value stands for.
float stored_element(float value) {
  if (std::isnan(value)) return 1;
  if (value == 0) return 0;
  const float magnitude = std::fabs(value);
  const int wanted = floor_log2f(magnitude + 1e-9f);
  const int exponent = std::clamp(wanted, -kBias, kTopExponent);
  const bool subnormal = exponent == -kBias;
  int eighths = 7;
  if (wanted <= kTopExponent) {
    const float part = std::ldexp(magnitude, -exponent) - (subnormal ? 0.0f : 1.0f);
    eighths = std::clamp(cut_and_round(part * 8), 0, 7);
  }
  const float element = std::ldexp(static_cast<float>(subnormal ? eighths : 8 + eighths), exponent - 3);
  return value < 0 ? -element : element;
}

}  // namespace

const std::vector<std::string>& storage_names() {
  static const std::vector<std::string> kNames = {"exact", "mxfp8"};
  return kNames;
}

std::string_view storage_name(Storage storage) {
  return storage_names()[static_cast<size_t>(storage)];
}

std::optional<Storage> storage_from_name(std::string_view name) {
  for (const Storage storage : {Storage::kExact, Storage::kMxfp8})
    if (storage_name(storage) == name) return storage;
  return std::nullopt;
}

bool storable(DType dtype, Storage storage) {
  return storage == Storage::kExact || dtype == DType::BF16 || dtype == DType::F32 || dtype == DType::F64;
}

void round_nearest_block(std::span<double> block) {
  double largest = 0;
  for (const double value : block)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  const int wanted = largest == 0 ? kLowestScale : std::ilogb(largest) - 6;
  if (wanted < kLowestScale) {
    for (double& value : block)
      if (std::isfinite(value)) value = std::copysign(0.0, value);
    return;
  }
  const int scale = std::min(wanted, kHighestScale);
  const bool exact_at_half =
      scale > kLowestScale && std::all_of(block.begin(), block.end(), [&](double value) {
        return !std::isfinite(value) || nearest_at(value, scale - 1) == value;
      });
  if (exact_at_half) return;
  for (double& value : block) value = nearest_at(value, scale);
}

Status round_nearest(Tensor& tensor, Storage storage) {
  if (storage == Storage::kExact) return {};
  if (!storable(tensor.dtype, storage))
    return invalid_argument(fmt::format("{} elements cannot be stored as {}, only bf16, f32 and f64 can",
                                        hlo::dtype_name(tensor.dtype), storage_name(storage)));
  const auto width = static_cast<size_t>(hlo::dtype_bytes(tensor.dtype));
  std::vector<Lane> lanes(tensor.bytes.size() / width);
  decode(tensor.dtype, tensor.bytes, lanes);
  const size_t row = tensor.dims.empty() ? 1 : static_cast<size_t>(tensor.dims.back());
  std::vector<double> block;
  for (size_t start = 0; start < lanes.size();) {
    const size_t size = std::min(kStorageBlock, row - start % row);
    block.clear();
    for (size_t i = 0; i < size; ++i) block.push_back(lane_float(lanes[start + i]));
    round_nearest_block(block);
    for (size_t i = 0; i < size; ++i) lanes[start + i] = to_lane(block[i]);
    start += size;
  }
  encode(tensor.dtype, lanes, tensor.bytes);
  return {};
}

void round_store_block(std::span<float> block) {
  float largest = 0;
  for (const float value : block)
    if (!std::isnan(value)) largest = std::max(largest, std::fabs(value));
  if (largest == 0) {
    std::fill(block.begin(), block.end(), 0.0f);
    return;
  }
  const float scale = std::ldexp(1.0f, std::clamp(floor_log2f(largest + 1e-9f), -127, 127));
  for (float& value : block) value = stored_element(value / scale) * scale;
}

void round_store(std::span<double> values, std::span<const int64_t> dims, int64_t dim) {
  size_t stride = 1;
  for (size_t d = static_cast<size_t>(dim) + 1; d < dims.size(); ++d) stride *= static_cast<size_t>(dims[d]);
  const auto length = static_cast<size_t>(dims[static_cast<size_t>(dim)]);
  float block[kStorageBlock];
  for (size_t first = 0; first < values.size(); ++first) {
    const size_t along = first / stride % length;
    if (along % kStorageBlock != 0) continue;
    const size_t size = std::min(kStorageBlock, length - along);
    for (size_t i = 0; i < size; ++i)
      block[i] = static_cast<float>(round_to(values[first + i * stride], DType::BF16));
    round_store_block(std::span(block, size));
    for (size_t i = 0; i < size; ++i) values[first + i * stride] = static_cast<double>(block[i]);
  }
}

}  // namespace zomboss::oracle
