#include "core/evaluate/contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/hlo/number.h"
#include "zomboss/sdk/random.h"

namespace zomboss::evaluate {

using hlo::DType;

Generator default_generator(DType dtype) {
  if (dtype == DType::Pred) return {Distribution::kUniform, 0, 1};
  if (hlo::is_float(dtype)) return {Distribution::kNormal, 0, 1};
  if (hlo::dtype_bits(dtype) <= 8)
    return {Distribution::kUniform, static_cast<double>(hlo::integer_min(dtype)),
            static_cast<double>(hlo::integer_max(dtype))};
  return {Distribution::kUniform, hlo::is_signed(dtype) ? -32768.0 : 0.0, 32767.0};
}

Result<oracle::Tensor> generate(const Generator& generator, DType dtype, std::vector<int64_t> dims,
                                uint64_t seed, uint64_t input_number) {
  const bool is_float = hlo::is_float(dtype);
  if (!is_float && !hlo::is_integer(dtype) && dtype != DType::Pred)
    return unimplemented(fmt::format("inputs of type {} cannot be generated", hlo::dtype_name(dtype)));
  ZB_ASSIGN(const int64_t count, oracle::element_count(dims));
  const auto bytes = static_cast<int64_t>(hlo::dtype_bytes(dtype));
  constexpr int64_t kLimit = int64_t{1} << 32;
  if (count > kLimit / bytes)
    return resource_exhausted(fmt::format("an input of {} elements is larger than 4 GiB", count));
  Random random(seed, input_number);
  std::string data;
  data.reserve(static_cast<size_t>(count * bytes));
  for (int64_t i = 0; i < count; ++i) {
    if (is_float) {
      const double unit = generator.distribution == Distribution::kNormal ? random.normal() : random.unit();
      const double width =
          generator.distribution == Distribution::kNormal ? generator.high : generator.high - generator.low;
      hlo::append_bits(dtype, hlo::encode(dtype, generator.low + width * unit), data);
      continue;
    }
    const auto clamp = [&](double x) {
      const double low = static_cast<double>(hlo::integer_min(dtype));
      const double high = std::min(static_cast<double>(hlo::integer_max(dtype)), 0x1.0p62);
      return static_cast<int64_t>(std::clamp(x, low, high));
    };
    const int64_t value = generator.distribution == Distribution::kNormal
                              ? clamp(std::nearbyint(generator.low + generator.high * random.normal()))
                              : random.between(clamp(generator.low), clamp(generator.high));
    hlo::append_bits(dtype, static_cast<uint64_t>(value), data);
  }
  oracle::Tensor tensor{dtype, std::move(dims), {}};
  tensor.bytes.assign(data.begin(), data.end());
  return tensor;
}

}  // namespace zomboss::evaluate
