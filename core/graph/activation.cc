// silu and gelu in any spelling: a product is tried as a function of each of its factors. When everything
// between the product and the factor is elementwise on constants, the function is evaluated at sample points
// and compared with the known ones. So 0.5 * x * (1 + erf(x / sqrt(2))), the polynomials that some compilers
// print for erf, and x / (1 + exp(-x)) are all one case.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/graph/match.h"
#include "core/graph/recognisers.h"
#include "core/graph/scalar.h"

namespace zomboss::graph {
namespace {

constexpr size_t kConeLimit = 160;  // nodes between the product and the factor
constexpr size_t kFactorLimit = 8;

struct Activation {
  std::string_view op, form;
};
constexpr std::array kActivations =
    std::to_array<Activation>({{"silu", ""}, {"gelu", "erf"}, {"gelu", "tanh"}, {"gelu", "sigmoid"}});

double value_of(const Activation& activation, double x) {
  return activation.op == "silu" ? x / (1 + std::exp(-x)) : gelu_value(activation.form, x);
}

// Dense where the functions differ, and far enough out to see limits and pieces.
std::vector<double> sample_points() {
  std::vector<double> points{1, -1.25, 0};
  for (double x = 0.03125; x < 40; x *= 1.19) {
    points.push_back(x);
    points.push_back(-x * 1.03);
  }
  return points;
}

// The nodes that a function of one node consists of, operands first.
struct Cone {
  std::vector<uint32_t> nodes;
  uint32_t base = 0;
  double slack = 0;
  bool transcendental = false;
};

class ConeBuilder {
 public:
  ConeBuilder(const Rewriter& rewriter, uint32_t base) : rewriter_(rewriter) { cone_.base = base; }

  // Counts in `visited`.
  std::optional<Cone> build(uint32_t root, size_t& visited) && {
    std::vector<std::pair<uint32_t, size_t>> stack{{root, 0}};
    while (!stack.empty()) {
      auto& [id, next] = stack.back();
      ++visited;
      if (next == 0 && !enter(id)) return std::nullopt;
      if (is_leaf(id) || next == rewriter_.node(id).operands.size()) {
        if (!is_leaf(id) && done_.emplace(id, true).second) cone_.nodes.push_back(id);
        stack.pop_back();
        continue;
      }
      const uint32_t below = rewriter_.operand(id, next++);
      if (!done_.contains(below)) stack.emplace_back(below, 0);
      if (cone_.nodes.size() + stack.size() > kConeLimit) return std::nullopt;
    }
    if (!cone_.transcendental) return std::nullopt;
    return std::move(cone_);
  }

 private:
  bool is_leaf(uint32_t id) const {
    return id == cone_.base || without_converts(rewriter_, id) == cone_.base ||
           rewriter_.number(id).has_value();
  }

  // False for nodes that make the root no function of the base alone.
  bool enter(uint32_t id) {
    if (is_leaf(id)) return true;
    const Node& node = rewriter_.node(id);
    if (node.operands.empty() || node.shape.dims != rewriter_.node(cone_.base).shape.dims) return false;
    if (node.op != "compare" && node.op != "select") {
      const std::vector<double> ones(node.operands.size(), 1);
      if (!scalar_value(node, ones)) return false;
    }
    if (hlo::is_float(node.shape.dtype)) cone_.slack = std::max(cone_.slack, precision(node.shape.dtype));
    cone_.transcendental = cone_.transcendental || is_transcendental(node);
    return true;
  }

  const Rewriter& rewriter_;
  Cone cone_;
  std::map<uint32_t, bool> done_;
};

std::optional<double> cone_value(const Rewriter& rewriter, const Cone& cone, double x,
                                 std::map<uint32_t, double>& values) {
  const auto operand_value = [&](uint32_t id) {
    if (const auto number = rewriter.number(id)) return *number;
    return without_converts(rewriter, id) == cone.base ? x : values[id];
  };
  std::vector<double> operands;
  for (const uint32_t id : cone.nodes) {
    operands.clear();
    for (const uint32_t operand : rewriter.node(id).operands) {
      operands.push_back(operand_value(rewriter.resolve(operand)));
    }
    const auto value = scalar_value(rewriter.node(id), operands);
    if (!value) return std::nullopt;
    values[id] = *value;
  }
  return values[cone.nodes.back()];
}

// The activation that the function is, the nearest when several are within the precision of the types.
std::optional<Activation> activation_of(const Rewriter& rewriter, const Cone& cone) {
  std::array<double, kActivations.size()> worst{};
  std::map<uint32_t, double> values;
  for (const double x : sample_points()) {
    const auto value = cone_value(rewriter, cone, x, values);
    if (!value) return std::nullopt;
    bool any = false;
    for (size_t i = 0; i < worst.size(); ++i) {
      const double error = std::fabs(*value - value_of(kActivations[i], x)) / std::fmax(1, std::fabs(x));
      // NaN (0 * infinity far out in some spellings) is no proof of anything.
      if (!std::isnan(*value)) worst[i] = std::fmax(worst[i], error);
      if (std::isnan(*value) && std::fabs(x) < 8) return std::nullopt;
      any = any || worst[i] <= cone.slack;
    }
    if (!any) return std::nullopt;
  }
  return kActivations[static_cast<size_t>(std::min_element(worst.begin(), worst.end()) - worst.begin())];
}

// The factors of a product, and the products that they are part of: x of (0.5 * x) * (1 + erf(...)).
std::vector<uint32_t> factors_of(const Rewriter& rewriter, uint32_t root) {
  std::vector<uint32_t> factors;
  std::vector<uint32_t> stack{root};
  while (!stack.empty() && factors.size() < kFactorLimit) {
    const uint32_t id = without_converts(rewriter, stack.back());
    stack.pop_back();
    if (rewriter.number(id)) continue;
    if (id != root && std::find(factors.begin(), factors.end(), id) == factors.end()) factors.push_back(id);
    const Node& node = rewriter.node(id);
    if (node.op != "multiply" && node.op != "divide" && node.op != "negate") continue;
    for (size_t i = node.operands.size(); i-- > 0;) stack.push_back(rewriter.operand(id, i));
  }
  return factors;
}

}  // namespace

std::optional<uint32_t> recognise_activation(Rewriter& rewriter, uint32_t id) {
  if (!hlo::is_float(rewriter.node(id).shape.dtype) || rewriter.number(id)) return std::nullopt;
  for (const uint32_t factor : factors_of(rewriter, id)) {
    size_t visited = 0;
    const auto cone = ConeBuilder(rewriter, factor).build(id, visited);
    if (!rewriter.spend(visited)) return std::nullopt;
    if (!cone) continue;
    const auto activation = activation_of(rewriter, *cone);
    if (!activation) continue;
    const uint32_t node =
        rewriter.add(std::string(activation->op), {without_widening_converts(rewriter, factor)},
                     rewriter.node(id).shape, id);
    if (!activation->form.empty()) {
      rewriter.node(node).set({"form", {}, {}, std::string(activation->form)});
    }
    return node;
  }
  return std::nullopt;
}

}  // namespace zomboss::graph
