// The epilogue of a quantised operator: [convert to f32] multiply round clamp convert, in the spellings that
// compilers print. Every step is a monotone function of the product, so the chain equals "round, then limit
// to [low, high]" where low and high are what the chain makes of minus and plus infinity.
#include <cmath>
#include <limits>
#include <utility>

#include "core/graph/recognisers.h"
#include "core/hlo/number.h"

namespace zomboss::graph {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Limits {
  double low = -kInfinity;
  double high = kInfinity;
  double apply(double value) const { return std::fmin(std::fmax(value, low), high); }
};

// One step of the chain, from the output inwards.
struct Step {
  enum class Kind : uint8_t { kLimit, kRound, kTruncate } kind;
  Limits limits;
};

struct Chain {
  std::vector<Step> steps;
  uint32_t at;  // the value that enters the steps
  bool rounds = false;

  double apply(double value) const {
    for (size_t i = steps.size(); i-- > 0;) {
      switch (steps[i].kind) {
        case Step::Kind::kLimit:
          value = steps[i].limits.apply(value);
          break;
        case Step::Kind::kRound:
          value = std::nearbyint(value);
          break;
        case Step::Kind::kTruncate:
          value = std::trunc(value);
          break;
      }
    }
    return value;
  }
};

// The operand that is limited and the limits, when the node is clamp, maximum, minimum or relu with
// constants.
std::optional<std::pair<uint32_t, Limits>> as_limit(Rewriter& rewriter, uint32_t id) {
  const std::string op = rewriter.node(id).op;
  if (op == "relu") return std::pair(rewriter.operand(id, 0), Limits{0, kInfinity});
  if (op == "clamp") {
    const auto low = rewriter.uniform(rewriter.operand(id, 0));
    const auto high = rewriter.uniform(rewriter.operand(id, 2));
    if (!low || !high) return std::nullopt;
    return std::pair(rewriter.operand(id, 1), Limits{*low, *high});
  }
  if (op != "maximum" && op != "minimum") return std::nullopt;
  for (const size_t side : {size_t{1}, size_t{0}}) {
    const auto bound = rewriter.uniform(rewriter.operand(id, side));
    if (!bound) continue;
    const Limits limits = op == "maximum" ? Limits{*bound, kInfinity} : Limits{-kInfinity, *bound};
    return std::pair(rewriter.operand(id, 1 - side), limits);
  }
  return std::nullopt;
}

Limits range_of(DType integer) {
  return {static_cast<double>(hlo::integer_min(integer)), static_cast<double>(hlo::integer_max(integer))};
}

// Follows limits, one rounding, and one conversion from float to integer inwards.
void follow(Rewriter& rewriter, Chain& chain) {
  while (chain.steps.size() < kChainLimit) {
    const Node& node = rewriter.node(chain.at);
    if (const auto limit = as_limit(rewriter, chain.at)) {
      chain.steps.push_back({Step::Kind::kLimit, limit->second});
      chain.at = limit->first;
    } else if (node.op == "round-nearest-even" && !chain.rounds) {
      chain.steps.push_back({Step::Kind::kRound, {}});
      chain.rounds = true;
      chain.at = rewriter.operand(chain.at, 0);
    } else if (node.op == "convert" && hlo::is_integer(node.shape.dtype) &&
               hlo::is_float(rewriter.node(rewriter.operand(chain.at, 0)).shape.dtype)) {
      chain.steps.push_back({Step::Kind::kLimit, range_of(node.shape.dtype)});
      chain.steps.push_back({Step::Kind::kTruncate, {}});
      chain.at = rewriter.operand(chain.at, 0);
    } else {
      return;
    }
  }
}

// The factor of multiply by a constant, or of divide by a power of two.
std::optional<std::pair<uint32_t, double>> as_scaling(Rewriter& rewriter, uint32_t id) {
  const Node& node = rewriter.node(id);
  if (node.shape.dtype != DType::F32) return std::nullopt;
  if (node.op == "multiply") {
    for (const size_t side : {size_t{1}, size_t{0}}) {
      const auto scale = rewriter.uniform(rewriter.operand(id, side));
      if (scale && std::isfinite(*scale)) return std::pair(rewriter.operand(id, 1 - side), *scale);
    }
  }
  if (node.op == "divide") {
    const auto divisor = rewriter.uniform(rewriter.operand(id, 1));
    int exponent = 0;
    if (divisor && std::isfinite(*divisor) && std::fabs(std::frexp(*divisor, &exponent)) == 0.5 &&
        std::fabs(*divisor) < 0x1p126) {
      return std::pair(rewriter.operand(id, 0), 1 / *divisor);
    }
  }
  return std::nullopt;
}

// Such a convert is monotone and keeps 0, even where it overflows.
bool converts_integer_to_ieee(const Rewriter& rewriter, uint32_t id) {
  const Node& node = rewriter.node(id);
  return node.op == "convert" && hlo::is_float(node.shape.dtype) &&
         hlo::float_format(node.shape.dtype).specials == hlo::Specials::kIeee &&
         hlo::is_integer(rewriter.node(rewriter.operand(id, 0)).shape.dtype);
}

bool exact_in_f32_when_limited(DType dtype) {
  return hlo::is_integer(dtype) && hlo::dtype_bits(dtype) <= 32;
}

}  // namespace

std::optional<uint32_t> recognise_quantize(Rewriter& rewriter, uint32_t id) {
  const DType to = rewriter.node(id).shape.dtype;
  if (!hlo::is_integer(to) || hlo::dtype_bits(to) > 16) return std::nullopt;
  Chain chain{{}, rewriter.operand(id, 0), false};
  const bool from_float = hlo::is_float(rewriter.node(chain.at).shape.dtype);
  if (from_float) {  // the last convert saturates
    chain.steps.push_back({Step::Kind::kLimit, range_of(to)});
    chain.steps.push_back({Step::Kind::kTruncate, {}});
  }
  follow(rewriter, chain);
  if (chain.steps.empty()) return std::nullopt;

  double scale = 1;
  const bool scales = hlo::is_float(rewriter.node(chain.at).shape.dtype);
  if (const auto scaling = as_scaling(rewriter, chain.at)) {
    chain.at = scaling->first;
    scale = scaling->second;
  }
  const Node& inner = rewriter.node(chain.at);
  bool whole = hlo::is_integer(inner.shape.dtype);  // the value that enters is an integer
  if (inner.op == "convert" && inner.shape.dtype == DType::F32) {
    const uint32_t below = rewriter.operand(chain.at, 0);
    if (exact_in_f32_when_limited(rewriter.node(below).shape.dtype)) {
      chain.at = below;
      whole = true;
    }
  }
  const DType from = rewriter.node(chain.at).shape.dtype;
  if (whole ? !exact_in_f32_when_limited(from) : from != DType::F32) return std::nullopt;
  if (!chain.rounds && !(whole && scale == 1)) return std::nullopt;

  // Between integers the last convert wraps: nothing may be left for it to wrap.
  const Limits result{chain.apply(-kInfinity), chain.apply(kInfinity)};
  const Limits type = range_of(to);
  if (!(result.low >= type.low && result.high <= type.high)) return std::nullopt;
  // NaN becomes 0 somewhere along the chain; the limits after that must let it pass.
  if (scales && !whole && !(result.low <= 0 && result.high >= 0)) return std::nullopt;

  const uint32_t quantize = rewriter.add("quantize", {chain.at}, rewriter.node(id).shape, id);
  Node& node = rewriter.node(quantize);
  node.set({"scale", {}, {scale}, {}});
  node.set({"low", {static_cast<int64_t>(result.low)}, {}, {}});
  node.set({"high", {static_cast<int64_t>(result.high)}, {}, {}});
  node.set({"zero_point", {0}, {}, {}});
  return quantize;
}

// maximum(x, 0) in either order. A convert from integer to float moves behind it: relu keeps its place, on
// the integers.
std::optional<uint32_t> recognise_relu(Rewriter& rewriter, uint32_t id) {
  for (const size_t side : {size_t{1}, size_t{0}}) {
    const auto bound = rewriter.uniform(rewriter.operand(id, side));
    if (!bound || *bound != 0 || std::signbit(*bound)) continue;
    const uint32_t x = rewriter.operand(id, 1 - side);
    const hlo::Shape shape = rewriter.node(id).shape;
    if (!hlo::is_float(shape.dtype) && !hlo::is_integer(shape.dtype)) return std::nullopt;
    if (!converts_integer_to_ieee(rewriter, x)) return rewriter.add("relu", {x}, shape, id);
    const uint32_t below = rewriter.operand(x, 0);
    const uint32_t relu = rewriter.add("relu", {below}, rewriter.node(below).shape, id);
    return rewriter.add("convert", {relu}, shape, x);
  }
  return std::nullopt;
}

}  // namespace zomboss::graph
