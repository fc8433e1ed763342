#include "core/graph/scalar.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

namespace zomboss::graph {
namespace {

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

struct Unary {
  std::string_view op;
  bool transcendental;
  double (*function)(double);
};

constexpr std::array kUnary = std::to_array<Unary>({
    {"abs", false, [](double x) { return std::fabs(x); }},
    {"cbrt", false, [](double x) { return std::cbrt(x); }},
    {"ceil", false, [](double x) { return std::ceil(x); }},
    {"cosine", true, [](double x) { return std::cos(x); }},
    {"erf", true, [](double x) { return std::erf(x); }},
    {"exponential", true, [](double x) { return std::exp(x); }},
    {"exponential-minus-one", true, [](double x) { return std::expm1(x); }},
    {"floor", false, [](double x) { return std::floor(x); }},
    {"log", true, [](double x) { return std::log(x); }},
    {"log-plus-one", true, [](double x) { return std::log1p(x); }},
    {"logistic", true, [](double x) { return sigmoid(x); }},
    {"negate", false, [](double x) { return -x; }},
    {"relu", false, [](double x) { return std::fmax(x, 0.0); }},
    {"round-nearest-even", false, [](double x) { return std::nearbyint(x); }},
    {"rsqrt", false, [](double x) { return 1 / std::sqrt(x); }},
    {"sign", false, [](double x) { return x == 0 ? x : std::copysign(1.0, x); }},
    {"silu", true, [](double x) { return x * sigmoid(x); }},
    {"sine", true, [](double x) { return std::sin(x); }},
    {"sqrt", false, [](double x) { return std::sqrt(x); }},
    {"tan", true, [](double x) { return std::tan(x); }},
    {"tanh", true, [](double x) { return std::tanh(x); }},
});

struct Binary {
  std::string_view op;
  double (*function)(double, double);
};

constexpr std::array kBinary = std::to_array<Binary>({
    {"add", [](double a, double b) { return a + b; }},
    {"divide", [](double a, double b) { return a / b; }},
    {"maximum", [](double a, double b) { return std::fmax(a, b); }},
    {"minimum", [](double a, double b) { return std::fmin(a, b); }},
    {"multiply", [](double a, double b) { return a * b; }},
    {"power", [](double a, double b) { return std::pow(a, b); }},
    {"subtract", [](double a, double b) { return a - b; }},
});

bool holds(std::string_view direction, double a, double b) {
  if (direction == "EQ") return a == b;
  if (direction == "NE") return a != b;
  if (direction == "LT") return a < b;
  if (direction == "LE") return a <= b;
  return direction == "GT" ? a > b : a >= b;
}

std::optional<double> predicate_value(const Node& node, std::span<const double> operands) {
  if (node.op == "compare" && operands.size() == 2) {
    return holds(node.text("direction"), operands[0], operands[1]) ? 1 : 0;
  }
  if (node.op == "convert" && operands.size() == 1) return operands[0] != 0 ? 1 : 0;
  if (node.op == "not" && operands.size() == 1) return 1 - operands[0];
  if (operands.size() != 2) return std::nullopt;
  if (node.op == "and") return std::fmin(operands[0], operands[1]);
  if (node.op == "or") return std::fmax(operands[0], operands[1]);
  return std::nullopt;
}

}  // namespace

std::optional<double> scalar_value(const Node& node, std::span<const double> operands) {
  if (node.shape.dtype == DType::Pred) return predicate_value(node, operands);
  const bool whole = hlo::is_integer(node.shape.dtype);
  if (!whole && !hlo::is_float(node.shape.dtype)) return std::nullopt;
  if (node.op == "convert" && operands.size() == 1) {
    const bool fraction = whole && operands[0] != std::trunc(operands[0]);
    return fraction ? std::nullopt : std::optional(operands[0]);
  }
  if (node.op == "select" && operands.size() == 3) return operands[0] != 0 ? operands[1] : operands[2];
  if (node.op == "clamp" && operands.size() == 3) {
    return std::fmin(std::fmax(operands[1], operands[0]), operands[2]);
  }
  if (node.op == "gelu" && operands.size() == 1) return gelu_value(node.text("form"), operands[0]);
  if (operands.size() == 1) {
    const auto row =
        std::find_if(kUnary.begin(), kUnary.end(), [&](const Unary& u) { return u.op == node.op; });
    if (row != kUnary.end()) return row->function(operands[0]);
  }
  if (operands.size() == 2 && !(whole && (node.op == "divide" || node.op == "power"))) {
    const auto row =
        std::find_if(kBinary.begin(), kBinary.end(), [&](const Binary& b) { return b.op == node.op; });
    if (row != kBinary.end()) return row->function(operands[0], operands[1]);
  }
  return std::nullopt;
}

bool is_transcendental(const Node& node) {
  const auto row =
      std::find_if(kUnary.begin(), kUnary.end(), [&](const Unary& u) { return u.op == node.op; });
  return row != kUnary.end() && row->transcendental;
}

double gelu_value(std::string_view form, double x) {
  if (form == "erf") return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
  if (form == "sigmoid") return x * sigmoid(1.702 * x);
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

}  // namespace zomboss::graph
