#include "core/evaluate/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <optional>

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
  double tolerances = 0;  // error in units of the tolerance
  bool far = false;       // beyond worst_factor tolerances
};

Difference difference(double expected, double got, const wire::ContractT& contract) {
  if (std::isnan(expected) && std::isnan(got)) return {};
  if (!std::isfinite(expected) || !std::isfinite(got)) {
    if (expected == got) return {};
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return {false, kInfinity, kInfinity, true};
  }
  const double error = std::abs(got - expected);
  if (contract.acceptance == wire::Acceptance::Exact)
    return {false, error, error, true};  // one unit of error as the tolerance
  const double tolerance = std::max(contract.absolute, contract.relative * std::abs(expected));
  const bool far = contract.worst_factor > 0 && error > contract.worst_factor * tolerance;
  return {error <= tolerance, error, error == 0 ? 0 : error / tolerance, far};
}

std::string difference_text(const Tensor& expected, const Tensor& got, size_t output, uint64_t index) {
  const auto value = [&](const Tensor& tensor) {
    const auto width = static_cast<uint64_t>(hlo::dtype_bytes(tensor.dtype));
    const auto* bytes = reinterpret_cast<const char*>(tensor.bytes.data()) + index * width;
    return hlo::decode(tensor.dtype, hlo::load_bits(tensor.dtype, bytes));
  };
  return fmt::format("output {} at {}: got {}, expected {}", output, index_text(expected, index), value(got),
                     value(expected));
}

// Adds the elements of one output of equal type. Returns false when an element is too far off.
bool add_output(const Tensor& expected, const Tensor& got, size_t output, const wire::ContractT& contract,
                Comparison& comparison) {
  const auto width = static_cast<size_t>(hlo::dtype_bytes(expected.dtype));
  const uint64_t count = expected.bytes.size() / width;
  comparison.elements += count;
  if (expected.bytes == got.bytes) return true;
  bool near = true;
  std::optional<uint64_t> worst;
  for (uint64_t i = 0; i < count; ++i) {
    const auto* e = reinterpret_cast<const char*>(expected.bytes.data()) + i * width;
    const auto* g = reinterpret_cast<const char*>(got.bytes.data()) + i * width;
    if (std::equal(e, e + width, g)) continue;
    const double want = hlo::decode(expected.dtype, hlo::load_bits(expected.dtype, e));
    const double have = hlo::decode(got.dtype, hlo::load_bits(got.dtype, g));
    const Difference d = difference(want, have, contract);
    comparison.worst_error = std::max(comparison.worst_error, d.error);
    if (d.tolerances > comparison.worst_tolerances ||
        (comparison.worst_difference.empty() && !worst && !d.match)) {
      comparison.worst_tolerances = d.tolerances;
      worst = i;
    }
    near = near && !d.far;
    if (!d.match && comparison.mismatches++ == 0)
      comparison.first_difference = difference_text(expected, got, output, i);
  }
  if (worst) comparison.worst_difference = difference_text(expected, got, output, *worst);
  return near;
}

// Why the comparison was not accepted.
std::string reason(const Comparison& comparison) {
  if (comparison.exact)
    return fmt::format("{} of {} elements differ, worst by {}; first: {}", comparison.mismatches,
                       comparison.elements, comparison.worst_error, comparison.first_difference);
  std::string text = fmt::format("{} of {} elements are outside the tolerance, {}", comparison.mismatches,
                                 comparison.elements, comparison.summary());
  if (!comparison.first_difference.empty() && comparison.first_difference != comparison.worst_difference)
    text += "; first: " + comparison.first_difference;
  return text;
}

}  // namespace

std::string Comparison::summary() const {
  if (exact && mismatches == 0) return fmt::format("{} elements equal", elements);
  std::string text = fmt::format("match rate {:.2f} %", 100 * match_rate());
  if (worst_difference.empty()) return text;
  if (exact) return text + fmt::format(", worst by {} ({})", worst_error, worst_difference);
  return text + fmt::format(", worst {:.3g} tolerances ({})", worst_tolerances, worst_difference);
}

Comparison compare(std::span<const Tensor> expected, std::span<const Tensor> got,
                   const wire::ContractT& contract) {
  Comparison comparison;
  comparison.exact = contract.acceptance == wire::Acceptance::Exact;
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
  const double needed = comparison.exact ? 1.0 : contract.match_rate;
  comparison.accepted = near && comparison.match_rate() >= needed;
  if (!comparison.accepted) comparison.reason = reason(comparison);
  return comparison;
}

}  // namespace zomboss::evaluate
