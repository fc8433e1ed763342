#include "core/taidl/constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/base/text.h"
#include "core/taidl/lexer.h"

namespace zomboss::taidl {
namespace {

constexpr size_t kMaxValues = 4096;  // of a listed domain

}  // namespace

void Constants::error(Location where, std::string message, std::string hint) {
  if (!too_many(diagnostics_)) diagnostics_.error(where, std::move(message), std::move(hint));
}

void Constants::define(const std::string& name, int64_t value) {
  scope_.add(name, Symbol::kParam);
  env_.emplace(name, value);
}

// The value of an expression over parameters, or nothing after an error.
std::optional<int64_t> Constants::number(const Expr& expr, std::string_view what) {
  if (!require_type(expr, ExprType::kInteger, what, scope_, diagnostics_)) return std::nullopt;
  const Value value = evaluate(expr, env_);
  if (value.known()) return value.number;
  if (value.failed()) error(value.where, value.message);
  return std::nullopt;
}

std::optional<int64_t> Constants::number_in(const Expr& expr, std::string_view what, int64_t low,
                                            int64_t high) {
  const auto value = number(expr, what);
  if (!value || (*value >= low && *value <= high)) return value;
  error(expr.where, fmt::format("{} is {}, expected {}..{}", what, *value, low, high));
  return std::nullopt;
}

std::optional<Domain> Constants::domain(const DomainExpr& decl, std::string_view what) {
  Domain out;
  if (decl.kind == DomainExpr::Kind::kAny) {
    out.any = true;
    out.low = std::numeric_limits<int64_t>::min();
    out.high = std::numeric_limits<int64_t>::max();
    return out;
  }
  std::vector<int64_t> numbers;
  for (const Expr& expr : decl.values) {
    const auto value = number(expr, what);
    if (!value) return std::nullopt;
    numbers.push_back(*value);
  }
  return decl.kind == DomainExpr::Kind::kRange ? range(decl, numbers, what) : list(decl, numbers, what);
}

std::optional<Domain> Constants::range(const DomainExpr& decl, const std::vector<int64_t>& numbers,
                                       std::string_view what) {
  Domain out;
  out.low = numbers[0];
  out.high = numbers[1];
  if (numbers.size() == 3) out.step = numbers[2];
  if (out.step < 1) {
    error(decl.values[2].where, fmt::format("{}: the step is {}, expected at least 1", what, out.step));
    return std::nullopt;
  }
  if (out.low <= out.high) return out;
  error(decl.where, fmt::format("{} is empty: {}..{}", what, out.low, out.high),
        "low..high includes both ends");
  return std::nullopt;
}

std::optional<Domain> Constants::list(const DomainExpr& decl, std::vector<int64_t> numbers,
                                      std::string_view what) {
  if (numbers.empty() || numbers.size() > kMaxValues) {
    error(decl.where, numbers.empty() ? fmt::format("{} is empty", what)
                                      : fmt::format("{} lists {} values, at most {} are accepted", what,
                                                    numbers.size(), kMaxValues));
    return std::nullopt;
  }
  Domain out;
  out.values = numbers;
  std::sort(out.values.begin(), out.values.end());
  const auto twice = std::adjacent_find(out.values.begin(), out.values.end());
  if (twice != out.values.end()) {
    error(decl.where, fmt::format("{} lists {} twice", what, *twice));
    return std::nullopt;
  }
  out.low = out.values.front();
  out.high = out.values.back();
  return out;
}

std::optional<Format> Constants::element_type(const Name& name) {
  for (const Format& format : formats_)
    if (format.name == name.text) return format;
  const auto dtype = hlo::dtype_from_name(name.text);
  if (dtype && hlo::dtype_bits(*dtype) != 0) return Format{name.text, *dtype, 0, hlo::DType::Invalid};
  std::vector<std::string> names;
  for (const Format& format : formats_) names.push_back(format.name);
  for (int i = 1; i <= static_cast<int>(hlo::DType::C128); ++i)
    names.emplace_back(hlo::dtype_name(static_cast<hlo::DType>(i)));
  const std::string near = nearest_name(name.text, names);
  error(name.where, fmt::format("unknown number format '{}'", name.text),
        near.empty() ? "HLO's types (s8, s32, bf16, f32, ...) or a format declared with 'dtype'"
                     : fmt::format("did you mean '{}'?", near));
  return std::nullopt;
}

// Product of dimensions in 1..kMaxUnits, or nothing after an error.
std::optional<std::vector<int64_t>> Constants::dims(std::span<const Expr> exprs, std::string_view what) {
  std::vector<int64_t> out;
  int64_t product = 1;
  for (const Expr& expr : exprs) {
    const auto dim = number_in(expr, what, 1, kMaxUnits);
    if (!dim) return std::nullopt;
    out.push_back(*dim);
    if (product > kMaxUnits / *dim) {
      error(expr.where, fmt::format("more than {} elements", kMaxUnits));
      return std::nullopt;
    }
    product *= *dim;
  }
  return out;
}

}  // namespace zomboss::taidl
