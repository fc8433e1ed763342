#include "core/evaluate/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "core/hlo/number.h"

namespace zomboss::evaluate {
namespace {

using oracle::Tensor;

// "[3,17]" of a row-major index.
std::string index_text(const Tensor& tensor, uint64_t index) {
  std::vector<int64_t> position(tensor.dims.size());
  for (size_t d = tensor.dims.size(); d-- > 0;) {
    const auto size = static_cast<uint64_t>(tensor.dims[d]);
    position[d] = static_cast<int64_t>(index % size);
    index /= size;
  }
  return fmt::format("[{}]", fmt::join(position, ","));
}

std::string type_text(const Tensor& tensor) {
  return fmt::format("{}[{}]", hlo::dtype_name(tensor.dtype), fmt::join(tensor.dims, ","));
}

// One pair of elements: does it match, and how far is it off.
struct Difference {
  bool match = true;
  double error = 0;
  bool far = false;  // beyond worst_factor tolerances
};

Difference difference(double expected, double got, bool same_bits, const wire::ContractT& contract) {
  if (same_bits || (std::isnan(expected) && std::isnan(got))) return {};
  if (!std::isfinite(expected) || !std::isfinite(got)) {
    if (expected == got) return {};
    return {false, std::numeric_limits<double>::infinity(), true};
  }
  const double error = std::abs(got - expected);
  if (contract.acceptance == wire::Acceptance::Exact) return {false, error, true};
  const double tolerance = std::max(contract.absolute, contract.relative * std::abs(expected));
  const bool far = contract.worst_factor > 0 && error > contract.worst_factor * tolerance;
  return {error <= tolerance, error, far};
}

// Adds the elements of one output of equal type. Returns false when an element is too far off.
bool add_output(const Tensor& expected, const Tensor& got, size_t output, const wire::ContractT& contract,
                Comparison& comparison) {
  const auto width = static_cast<size_t>(hlo::dtype_bytes(expected.dtype));
  const uint64_t count = expected.bytes.size() / width;
  comparison.elements += count;
  if (expected.bytes == got.bytes) return true;
  bool near = true;
  for (uint64_t i = 0; i < count; ++i) {
    const auto* e = reinterpret_cast<const char*>(expected.bytes.data()) + i * width;
    const auto* g = reinterpret_cast<const char*>(got.bytes.data()) + i * width;
    const bool same = std::equal(e, e + width, g);
    if (same) continue;
    const double want = hlo::decode(expected.dtype, hlo::load_bits(expected.dtype, e));
    const double have = hlo::decode(got.dtype, hlo::load_bits(got.dtype, g));
    const Difference d = difference(want, have, same, contract);
    comparison.worst_error = std::max(comparison.worst_error, d.error);
    near = near && !d.far;
    if (d.match) continue;
    if (comparison.mismatches++ == 0)
      comparison.first_difference =
          fmt::format("output {} at {}: got {}, expected {}", output, index_text(expected, i), have, want);
  }
  return near;
}

}  // namespace

Comparison compare(std::span<const Tensor> expected, std::span<const Tensor> got,
                   const wire::ContractT& contract) {
  Comparison comparison;
  if (expected.size() != got.size()) {
    comparison.reason = fmt::format("{} outputs, expected {}", got.size(), expected.size());
    return comparison;
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].dtype == got[i].dtype && expected[i].dims == got[i].dims &&
        expected[i].bytes.size() == got[i].bytes.size())
      continue;
    comparison.reason =
        fmt::format("output {} is {}, expected {}", i, type_text(got[i]), type_text(expected[i]));
    return comparison;
  }
  bool near = true;
  for (size_t i = 0; i < expected.size(); ++i)
    near = add_output(expected[i], got[i], i, contract, comparison) && near;
  const double needed = contract.acceptance == wire::Acceptance::Exact ? 1.0 : contract.match_rate;
  comparison.accepted = near && comparison.match_rate() >= needed;
  if (!comparison.accepted) {
    comparison.reason = fmt::format("{} of {} elements differ, worst by {}; first: {}", comparison.mismatches,
                                    comparison.elements, comparison.worst_error,
                                    comparison.first_difference.empty() ? "(within tolerance but too far off)"
                                                                        : comparison.first_difference);
  }
  return comparison;
}

}  // namespace zomboss::evaluate
