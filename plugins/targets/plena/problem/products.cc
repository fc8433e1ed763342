// Matrix products and attention.
#include <fmt/format.h>

#include <algorithm>

#include "plugins/targets/plena/problem/reader.h"

namespace zomboss::plena {
namespace {

std::vector<bool> marks(size_t rank, const std::vector<int64_t>& dims) {
  std::vector<bool> result(rank, false);
  for (const int64_t d : dims) result[static_cast<size_t>(d)] = true;
  return result;
}

// The operands of an einsum "qhd,khd,khe->qhe", the result last.
std::vector<std::string> terms_of(std::string_view equation) {
  std::vector<std::string> terms(1);
  for (size_t i = 0; i < equation.size(); ++i) {
    if (equation[i] == ',' || equation[i] == '-')
      terms.emplace_back();
    else if (equation[i] != '>')
      terms.back() += equation[i];
  }
  return terms;
}

}  // namespace

void Reader::matmul(const Node& node) {
  View a = operand(node, 0);
  View b = operand(node, 1);
  if (a.is_uniform || b.is_uniform || !a.along.empty() || !b.along.empty())
    return refuse(node, "an operand is a constant or a broadcast");
  std::vector<int64_t> a_batch = ints_of(node, "lhs_batch"), b_batch = ints_of(node, "rhs_batch");
  std::vector<int64_t> a_contract = ints_of(node, "lhs_contract"), b_contract = ints_of(node, "rhs_contract");
  // The operand that lies in the HBM is the matrix; a vector is never it.
  const auto in_hbm = [&](const View& view) { return value(view.value).origin != Origin::kStage; };
  const bool b_is_vector = b.shape.size() == b_batch.size() + b_contract.size();
  const bool swapped = in_hbm(a) && (!in_hbm(b) || b_is_vector) && a_batch.empty();
  if (swapped) {
    std::swap(a, b);
    std::swap(a_contract, b_contract);
  }
  if (!in_hbm(b))
    return refuse(node,
                  "both operands are computed on chip, and the matrix SRAM is filled from the HBM only");
  const size_t batches = a_batch.size();
  const auto a_is_contracted = marks(a.shape.size(), a_contract);
  const size_t a_split = a.shape.size() - a_contract.size();
  for (size_t i = 0; i < a.shape.size(); ++i) {
    if (a_is_contracted[i] != (i >= a_split) ||
        (i < batches) !=
            (std::find(a_batch.begin(), a_batch.end(), static_cast<int64_t>(i)) != a_batch.end()))
      return refuse(node, "the vector operand's dims must be batch, rows, contracted, in this order");
  }
  const auto b_is_contracted = marks(b.shape.size(), b_contract);
  const bool natural = b.shape.size() > batches && b_is_contracted[batches];
  const size_t b_split = natural ? batches + b_contract.size() : b.shape.size() - b_contract.size();
  for (size_t i = 0; i < b.shape.size(); ++i) {
    const bool expected = natural ? (i >= batches && i < b_split) : i >= b_split;
    if (b_is_contracted[i] != expected) return refuse(node, "the matrix's contracted dims must lie together");
  }
  for (size_t i = 0; i < batches; ++i) {
    if (b_batch[i] != static_cast<int64_t>(i)) return refuse(node, "the matrix's batch dims must come first");
  }
  if (!std::is_sorted(a_contract.begin(), a_contract.end()) ||
      !std::is_sorted(b_contract.begin(), b_contract.end()))
    return refuse(node, "its contracted dims are in another order in its operands");
  const auto vector = with_split(a, a_split);
  if (!vector || !vector->in_order())
    return refuse(node, "the vector operand is transposed on chip, which the machine cannot do");
  const auto matrix = with_split(b, b_split);
  if (!matrix || !matrix->in_order())
    return refuse(node, "the matrix operand is transposed in a way that tiles are not");
  const int64_t batch = product(a.shape, 0, batches);
  value(vector->value).as_rows = true;
  value(matrix->value).as_matrix = true;
  value(matrix->value).batch = batch;
  std::vector<int64_t> dims(a.shape.begin(), a.shape.begin() + static_cast<std::ptrdiff_t>(a_split));
  const size_t b_first = natural ? b_split : batches;
  const size_t b_last = natural ? b.shape.size() : b_split;
  dims.insert(dims.end(), b.shape.begin() + static_cast<std::ptrdiff_t>(b_first),
              b.shape.begin() + static_cast<std::ptrdiff_t>(b_last));
  Stage& stage = new_stage(StageKind::kMatmul, node);
  stage.a = vector->value;
  stage.b = matrix->value;
  stage.transposed = !natural;
  stage.batch = batch;
  stage.takes_rounded = a.rounded;
  const int64_t rows = product(dims, 0, a_split);
  const ValueId out = new_value(node, rows, product(dims, a_split, dims.size()));
  problem_.stages.back().out = out;
  View view = view_of(out, dims, a_split);
  if (swapped) {  // HLO orders the result by its own operands
    const size_t cols = dims.size() - a_split;
    for (size_t i = 0; i < dims.size(); ++i) {
      view.order[i] = i < cols ? a_split + i : i - cols;
      view.shape[i] = dims[view.order[i]];
    }
  }
  set(node, std::move(view));
}

void Reader::attention(const Node& node) {
  const std::vector<std::string> terms = terms_of(text_of(node, "equation"));
  const size_t operands = node.operands.size();
  if (terms.size() != operands + 1 || operands < 3)
    return refuse(node, "its equation does not fit its operands");
  std::array<View, 3> views;
  for (size_t i = 0; i < 3; ++i) {
    views[i] = operand(node, i);
    if (views[i].is_uniform || !views[i].along.empty())
      return refuse(node, "an operand is a constant or a broadcast");
  }
  // Letters in storage order: positions must be the rows, then heads and features the columns.
  std::array<std::string, 3> stored;
  constexpr std::array<char, 3> kPosition = {'q', 'k', 'k'};
  bool heads_in_rows = false;
  std::array<bool, 3> in_rows{};
  for (size_t i = 0; i < 3; ++i) {
    stored[i].resize(terms[i].size());
    for (size_t d = 0; d < terms[i].size(); ++d) stored[i][views[i].order[d]] = terms[i][d];
    const size_t at = stored[i].find(kPosition[i]);
    if (at == std::string::npos) return refuse(node, "its equation lacks a position");
    size_t before = 0;
    for (size_t d = 0; d < at; ++d) before += views[i].dims[d] != 1 ? 1u : 0u;
    in_rows[i] = before != 0;
    heads_in_rows = heads_in_rows || in_rows[i];
    View plain = views[i];
    plain.order = view_of(0, plain.dims, 0).order;
    plain.shape = plain.dims;
    const auto other = with_split(plain, at + 1);
    if (!other) return refuse(node, "positions must be the rows of its operands");
    views[i] = *other;
  }
  const auto size_of = [&](size_t i, char letter) {
    const size_t at = stored[i].find(letter);
    return at == std::string::npos ? int64_t{1} : views[i].dims[at];
  };
  const std::string& result = terms.back();
  Stage stage;
  stage.head_dim = size_of(0, 'd');
  stage.value_dim = size_of(2, 'e');
  const int64_t query_cols =
      heads_in_rows ? product(views[0].dims, 0, views[0].dims.size()) / size_of(0, 'q') : views[0].cols();
  const int64_t key_cols =
      heads_in_rows ? product(views[1].dims, 0, views[1].dims.size()) / size_of(1, 'k') : views[1].cols();
  stage.heads = query_cols / stage.head_dim;
  stage.kv_heads = key_cols / stage.head_dim;
  stage.heads_in_rows = heads_in_rows;
  if (stored[0].back() != 'd' || stored[1].back() != 'd' || stored[2].back() != 'e')
    return refuse(node, "features must be the last dim of its operands");
  // Heads: the same letters in the same order everywhere, those of a group innermost; dims of size 1 do not
  // count.
  std::array<std::string, 3> heads;
  for (size_t i = 0; i < 3; ++i) {
    for (size_t d = 0; d < stored[i].size(); ++d) {
      if (views[i].dims[d] != 1 && std::string_view("qkde").find(stored[i][d]) == std::string_view::npos)
        heads[i] += stored[i][d];
    }
  }
  const std::string group = heads[0].ends_with('g') ? "g" : "";
  if (heads[1] != heads[2] || heads[0] != heads[1] + group)
    return refuse(node, "its operands have their heads in different orders");
  for (size_t i = 0; i < 3; ++i) {
    if (!heads[i].empty() && in_rows[i] != heads_in_rows)
      return refuse(node, "some of its operands have heads below each other, others beside each other");
  }
  if (!heads_in_rows && stage.heads > 1 &&
      (stage.head_dim % machine_.vlen != 0 || stage.value_dim % machine_.vlen != 0))
    return refuse(node,
                  fmt::format("heads beside each other must be multiples of {} wide, these are {} and {}",
                              machine_.vlen, stage.head_dim, stage.value_dim));
  stage.scale = number_of(node, "scale", 1);
  const std::string_view mask = text_of(node, "mask");
  stage.mask = mask == "causal"     ? MaskKind::kCausal
               : mask == "additive" ? MaskKind::kAdditive
               : mask == "boolean"  ? MaskKind::kBoolean
                                    : MaskKind::kNone;
  if (stage.mask == MaskKind::kBoolean)
    return refuse(node, "boolean masks have no storage in the HBM; use an additive one");
  if (stage.mask == MaskKind::kAdditive) {
    const View& added = operand(node, 3);
    if (added.is_uniform || !added.along.empty() || value(added.value).origin == Origin::kStage ||
        terms[3] != "qk")
      return refuse(node, "an additive mask must be an input [queries, keys]");
    value(added.value).as_rows = true;
    stage.d = added.value;
  }
  for (size_t i = 0; i < 3; ++i) {
    Value& each = value(views[i].value);
    (i == 0 ? each.as_rows : each.as_matrix) = true;
    if (i > 0 && each.origin == Origin::kStage) each.as_rows = true;
    if (heads_in_rows) each.batch = i == 0 ? stage.heads : stage.kv_heads;
  }
  Stage& added = new_stage(StageKind::kAttention, node);
  stage.name = added.name;
  stage.kind = added.kind;
  added = stage;
  added.a = views[0].value;
  added.b = views[1].value;
  added.c = views[2].value;
  // The result lies like the query, with the values' features.
  std::string out_letters = stored[0];
  out_letters.back() = 'e';
  std::vector<int64_t> dims = views[0].dims;
  dims.back() = stage.value_dim;
  const size_t split = views[0].split;
  const ValueId out = new_value(node, product(dims, 0, split), product(dims, split, dims.size()));
  problem_.stages.back().out = out;
  View view = view_of(out, dims, split);
  for (size_t i = 0; i < result.size(); ++i) {
    const size_t at = out_letters.find(result[i]);
    if (at == std::string::npos || result.size() != out_letters.size())
      return refuse(node, "its result has other dims than its query");
    view.order[i] = at;
    view.shape[i] = dims[at];
  }
  set(node, std::move(view));
}

}  // namespace zomboss::plena
