// softmax(scale * q k + mask) v, in any arrangement of dims: the dims of all tensors get atoms (axes.h), from
// the result backwards, and the atoms' places say which letter each one is.
#include "core/graph/attention.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/graph/match.h"
#include "core/graph/recognisers.h"

namespace zomboss::graph {
namespace {

struct Parts {
  Axes axes;
  Labelled result, q, k, v;
  Mask mask;
  double scale = 1;
  Atoms repeated;  // that K and V do not have of their own
  int feature = -1, key = -1;
};

// The operands of a matmul with atoms, and the atom that it contracts.
struct Product {
  Labelled lhs, rhs;
  int contract = -1;
};

std::optional<Product> matmul_operands(const Rewriter& rewriter, Axes& axes, const Labelled& result) {
  const Node& node = rewriter.node(result.node);
  if (node.ints("lhs_contract").size() != 1) return std::nullopt;
  Product product;
  size_t next = node.ints("lhs_batch").size();
  for (const bool left : {true, false}) {
    Labelled& side = left ? product.lhs : product.rhs;
    side.node = rewriter.operand(result.node, left ? 0 : 1);
    const auto& batch = node.ints(left ? "lhs_batch" : "rhs_batch");
    const auto contract = static_cast<size_t>(node.ints(left ? "lhs_contract" : "rhs_contract")[0]);
    const std::vector<int64_t>& dims = rewriter.node(side.node).shape.dims;
    side.dims.resize(dims.size());
    if (left) product.contract = axes.make(dims[contract]);
    for (size_t d = 0; d < dims.size(); ++d) {
      const auto at = std::find(batch.begin(), batch.end(), static_cast<int64_t>(d));
      if (at != batch.end()) {
        side.dims[d] = result.dims[static_cast<size_t>(at - batch.begin())];
      } else if (d == contract) {
        side.dims[d] = {product.contract};
      } else {
        side.dims[d] = result.dims[next++];
      }
    }
  }
  return product;
}

// From an operand of the second product to the softmax that it comes from alone.
bool walk_to_softmax(const Rewriter& rewriter, Axes& axes, Labelled& tensor) {
  for (int step = 0; step < kChainLimit && rewriter.uses(tensor.node) <= 1; ++step) {
    if (rewriter.node(tensor.node).op == "softmax") return true;
    if (!axes.step_back(rewriter, tensor, true)) return false;
  }
  return false;
}

// From the softmax's operand to the first product, over the scale and one mask.
bool walk_to_scores(const Rewriter& rewriter, Parts& parts, Labelled& tensor) {
  for (int step = 0; step < kChainLimit; ++step) {
    if (rewriter.node(tensor.node).op == "matmul") return true;
    if (const auto scaled = as_scaled(rewriter, tensor.node)) {
      parts.scale *= scaled->second;
      tensor.node = scaled->first;
    } else if (!parts.axes.step_back(rewriter, tensor, true)) {
      auto masked =
          parts.mask.kind == "none" ? as_masked(rewriter, parts.axes, tensor, parts.scale) : std::nullopt;
      if (!masked) return false;
      parts.mask = std::move(masked->mask);
      tensor = std::move(masked->scores);
    }
  }
  return false;
}

bool has_single_atoms(const Axes& axes, const Labelled& tensor) {
  return std::all_of(tensor.dims.begin(), tensor.dims.end(),
                     [&](const Atoms& dim) { return axes.expand(dim).size() == 1; });
}

// Follows an operand of the products inwards: to where it was scaled (not for V: `scale` is null) or repeated
// (only when `repeated` is there), and from there through transposes.
void settle(const Rewriter& rewriter, Axes& axes, Labelled& tensor, double* scale, Atoms* repeated) {
  Axes tried = axes;
  Labelled at = tensor;
  Atoms dropped;
  double factor = 1;
  for (int step = 0; step < kChainLimit; ++step) {
    const auto scaled = scale != nullptr ? as_scaled(rewriter, at.node) : std::nullopt;
    if (scaled) {
      factor *= scaled->second;
      at.node = scaled->first;
    } else if (repeated == nullptr || !step_back_broadcast(rewriter, at, dropped)) {
      if (!tried.step_back(rewriter, at, true)) break;
      continue;
    }
    axes = tried;
    tensor = at;
    if (repeated != nullptr) *repeated = dropped;
    if (scale != nullptr) *scale *= std::exchange(factor, 1.0);
  }
  while (rewriter.node(tensor.node).op == "transpose" || is_float_convert(rewriter, tensor.node)) {
    axes.step_back(rewriter, tensor, false);
  }
  // A dim of several atoms may be a reshape of dims that have one each.
  tried = axes;
  at = tensor;
  for (int step = 0; step < kChainLimit && !has_single_atoms(tried, at); ++step) {
    if (!tried.step_back(rewriter, at, false)) return;
  }
  axes = std::move(tried);
  tensor = std::move(at);
}

bool settle_all(const Rewriter& rewriter, Parts& parts, bool repeats) {
  Atoms of_k, of_v;
  settle(rewriter, parts.axes, parts.k, &parts.scale, repeats ? &of_k : nullptr);
  settle(rewriter, parts.axes, parts.v, nullptr, repeats ? &of_v : nullptr);
  settle(rewriter, parts.axes, parts.q, &parts.scale, nullptr);
  const auto large = [&](const Atoms& atoms) {
    std::set<int> set;
    for (const int atom : parts.axes.expand(atoms)) {
      if (parts.axes.size(atom) != 1) set.insert(atom);
    }
    return set;
  };
  parts.repeated = parts.axes.expand(of_k);
  return large(of_k) == large(of_v);
}

// The letters of the atoms, once their roles are known; atoms without a letter have size 1.
class Letters {
 public:
  explicit Letters(const Parts& parts) : parts_(parts) {}

  bool assign() {
    for (const Labelled* tensor : {&parts_.q, &parts_.k, &parts_.v, &parts_.result}) {
      const Atoms flat = parts_.axes.flatten(tensor->dims);
      sets_.emplace_back(flat.begin(), flat.end());
      if (sets_.back().size() != flat.size()) return false;  // an atom twice
    }
    const Atoms feature = parts_.axes.expand({parts_.feature}), key = parts_.axes.expand({parts_.key});
    if (feature.size() != 1 || key.size() != 1) return false;
    letters_[feature[0]] = 'd';
    letters_[key[0]] = 'k';
    if (!is_in(feature[0], "QK") || !is_in(key[0], "KV")) return false;
    return sort_others();
  }

  char letter(int atom) const {
    const auto at = letters_.find(atom);
    return at == letters_.end() ? '\0' : at->second;
  }

 private:
  // Whether the atom is in exactly these of Q, K, V and the result R.
  bool is_in(int atom, std::string_view names) const {
    for (size_t i = 0; i < sets_.size(); ++i) {
      if (sets_[i].contains(atom) != (names.find("QKVR"[i]) != std::string_view::npos)) return false;
    }
    return true;
  }

  bool sort_others() {
    std::set<int> all;
    for (const auto& set : sets_) all.insert(set.begin(), set.end());
    Atoms queries, features, batch, small_features;
    for (const int atom : all) {
      if (letter(atom) != '\0') continue;
      const bool small = parts_.axes.size(atom) == 1;
      if (is_in(atom, "QKVR")) {
        batch.push_back(atom);
      } else if (small) {
        if (is_in(atom, "VR")) small_features.push_back(atom);
      } else if (is_in(atom, "QR")) {
        queries.push_back(atom);
      } else if (is_in(atom, "VR")) {
        features.push_back(atom);
      } else {
        return false;
      }
    }
    if (features.empty() && !small_features.empty()) features.push_back(small_features[0]);
    if (features.size() != 1 || queries.size() > 2) return false;
    letters_[features[0]] = 'e';
    name_queries(queries);
    return name_batch(batch);
  }

  void name_queries(const Atoms& queries) {
    if (queries.empty()) {
      for (const int atom : parts_.axes.flatten(parts_.q.dims)) {  // a single position, if there is one
        if (letter(atom) == '\0' && is_in(atom, "QR")) {
          letters_[atom] = 'q';
          return;
        }
      }
      return;
    }
    int position = queries[0];
    if (queries.size() == 2) {
      position = position_of(queries);
      letters_[position == queries[0] ? queries[1] : queries[0]] = 'g';
    }
    letters_[position] = 'q';
  }

  // Positions are what the mask is about; groups are what K is repeated over; else positions stand first.
  int position_of(const Atoms& queries) const {
    const auto rest = [&](int atom) { return atom == queries[0] ? queries[1] : queries[0]; };
    const auto only_of = [&](const Atoms& atoms) -> std::optional<int> {
      const bool first = std::find(atoms.begin(), atoms.end(), queries[0]) != atoms.end();
      const bool second = std::find(atoms.begin(), atoms.end(), queries[1]) != atoms.end();
      if (first == second) return std::nullopt;
      return first ? queries[0] : queries[1];
    };
    if (parts_.mask.kind == "causal") {
      if (const auto atom = only_of(parts_.axes.expand({parts_.mask.query}))) return *atom;
    }
    if (const auto atom = only_of(parts_.repeated)) return rest(*atom);
    if (parts_.mask.operand) {
      if (const auto atom = only_of(parts_.axes.flatten(parts_.mask.operand->dims))) return *atom;
    }
    for (const int atom : parts_.axes.flatten(parts_.q.dims)) {
      if (atom == queries[0] || atom == queries[1]) return atom;
    }
    return queries[0];
  }

  bool name_batch(const Atoms& batch) {
    const std::string_view names = batch.size() == 1   ? "h"
                                   : batch.size() == 2 ? "bh"
                                                       : "abcfhijlmnoprstuvwxyz";
    if (batch.size() > names.size()) return false;
    size_t next = 0;
    for (const int atom : parts_.axes.flatten(parts_.q.dims)) {
      if (std::find(batch.begin(), batch.end(), atom) != batch.end()) letters_[atom] = names[next++];
    }
    return true;
  }

  const Parts& parts_;
  std::vector<std::set<int>> sets_;
  std::map<int, char> letters_;
};

// A tensor as the equation needs it: the letters of its dims, which a reshape makes one each.
struct Operand {
  uint32_t node = 0;
  std::string letters;
  std::vector<int64_t> sizes;
};

Operand lettered(const Axes& axes, const Letters& letters, const Labelled& tensor, bool needs_query) {
  Operand operand{tensor.node, {}, {}};
  for (const int atom : axes.flatten(tensor.dims)) {
    if (letters.letter(atom) == '\0') continue;
    operand.letters += letters.letter(atom);
    operand.sizes.push_back(axes.size(atom));
  }
  if (needs_query && operand.letters.find('q') == std::string::npos) {  // one query without a dim
    operand.letters.insert(operand.letters.begin(), 'q');
    operand.sizes.insert(operand.sizes.begin(), 1);
  }
  return operand;
}

uint32_t materialise(Rewriter& rewriter, const Operand& operand) {
  uint32_t node = operand.node;
  if (rewriter.node(node).shape.dims == operand.sizes) return without_widening_converts(rewriter, node);
  while (rewriter.node(node).op == "reshape") node = rewriter.operand(node, 0);
  hlo::Shape shape = rewriter.node(node).shape;
  if (shape.dims == operand.sizes) return without_widening_converts(rewriter, node);
  shape.dims = operand.sizes;
  return rewriter.add("reshape", {node}, std::move(shape), node);
}

// Checks that need the letters: what the mask lies along.
bool fits(const Parts& parts, const Letters& letters) {
  if (parts.mask.kind == "causal") {
    const Atoms query = parts.axes.expand({parts.mask.query}), key = parts.axes.expand({parts.mask.key});
    return query.size() == 1 && key.size() == 1 && letters.letter(query[0]) == 'q' &&
           letters.letter(key[0]) == 'k';
  }
  if (!parts.mask.operand) return true;
  const Atoms flat = parts.axes.flatten(parts.mask.operand->dims);
  return std::set<int>(flat.begin(), flat.end()).size() == flat.size();
}

std::optional<uint32_t> build_node(Rewriter& rewriter, const Parts& parts, uint32_t id) {
  Letters letters(parts);
  if (!letters.assign() || !fits(parts, letters)) return std::nullopt;
  const Operand result = lettered(parts.axes, letters, parts.result, true);
  std::vector<uint32_t> operands;
  std::string equation;
  for (const Labelled* tensor : {&parts.q, &parts.k, &parts.v}) {
    const Operand operand = lettered(parts.axes, letters, *tensor, tensor == &parts.q);
    equation += (operands.empty() ? "" : ",") + operand.letters;
    operands.push_back(materialise(rewriter, operand));
  }
  if (parts.mask.operand) {
    const Operand operand = lettered(parts.axes, letters, *parts.mask.operand, false);
    uint32_t mask = materialise(rewriter, operand);
    if (parts.mask.inverted) mask = rewriter.add("not", {mask}, rewriter.node(mask).shape, mask);
    equation += "," + operand.letters;
    operands.push_back(mask);
  }
  hlo::Shape shape = rewriter.node(id).shape;
  shape.dims = result.sizes;
  const uint32_t attention = rewriter.add("attention", std::move(operands), shape, id);
  Node& node = rewriter.node(attention);
  node.set({"equation", {}, {}, equation + "->" + result.letters});
  node.set({"scale", {}, {parts.scale}, {}});
  node.set({"mask", {}, {}, parts.mask.kind});
  if (shape.dims == rewriter.node(id).shape.dims) return attention;
  return rewriter.add("reshape", {attention}, rewriter.node(id).shape, id);
}

std::optional<Parts> take_apart(const Rewriter& rewriter, uint32_t id) {
  Parts parts;
  parts.result.node = id;
  for (const int64_t size : rewriter.node(id).shape.dims)
    parts.result.dims.push_back({parts.axes.make(size)});
  const auto outer = matmul_operands(rewriter, parts.axes, parts.result);
  if (!outer) return std::nullopt;
  parts.key = outer->contract;
  for (const bool left : {true, false}) {
    Parts tried = parts;
    Labelled weights = left ? outer->lhs : outer->rhs;
    tried.v = left ? outer->rhs : outer->lhs;
    if (!walk_to_softmax(rewriter, tried.axes, weights)) continue;
    const auto along = static_cast<size_t>(rewriter.node(weights.node).ints("dims")[0]);
    if (tried.axes.expand(weights.dims[along]) != tried.axes.expand({tried.key})) continue;
    Labelled scores{rewriter.operand(weights.node, 0), weights.dims};
    if (!walk_to_scores(rewriter, tried, scores)) continue;
    const auto inner = matmul_operands(rewriter, tried.axes, scores);
    if (!inner) continue;
    tried.feature = inner->contract;
    const Atoms of_lhs = tried.axes.flatten(inner->lhs.dims), key = tried.axes.expand({tried.key});
    const bool swapped = key.size() == 1 && std::find(of_lhs.begin(), of_lhs.end(), key[0]) != of_lhs.end();
    tried.q = swapped ? inner->rhs : inner->lhs;
    tried.k = swapped ? inner->lhs : inner->rhs;
    return tried;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint32_t> recognise_attention(Rewriter& rewriter, uint32_t id) {
  if (!hlo::is_float(rewriter.node(id).shape.dtype)) return std::nullopt;
  const auto parts = take_apart(rewriter, id);
  if (!parts) return std::nullopt;
  for (const bool repeats : {true, false}) {
    Parts settled = *parts;
    if (!settle_all(rewriter, settled, repeats)) continue;
    if (const auto node = build_node(rewriter, settled, id)) return node;
  }
  return std::nullopt;
}

}  // namespace zomboss::graph
