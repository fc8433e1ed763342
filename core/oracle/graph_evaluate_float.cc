#include "core/oracle/graph_evaluate_float.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "core/oracle/numeric.h"

namespace zomboss::oracle {
namespace {

using graph::Node;

double real(const Array& array, int64_t position) {
  const Lane lane = array.lanes[static_cast<size_t>(position)];
  return hlo::is_float(array.dtype) ? lane_float(lane) : static_cast<double>(lane_int(lane));
}

Result<std::shared_ptr<Array>> result_of(Context& context, const Node& node) {
  ZB_ASSIGN(auto result, make_array(context.budget(), node.shape.dtype, node.shape.dims));
  ZB_TRY(context.budget().charge(result->size()));
  return result;
}

void store(Array& array, int64_t position, double value) {
  array.lanes[static_cast<size_t>(position)] = to_lane(round_to(value, array.dtype));
}

// The dims of an array as an outer and an inner part; the inner one are these dims.
struct Rows {
  std::vector<int64_t> outer_dims, inner_dims;
  StridedView outer, inner;
};

Rows rows_along(const Array& array, const std::vector<int64_t>& dims) {
  Rows rows;
  const auto strides = row_major_strides(array.dims);
  for (size_t d = 0; d < array.dims.size(); ++d) {
    const bool in = std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
    (in ? rows.inner_dims : rows.outer_dims).push_back(array.dims[d]);
    (in ? rows.inner : rows.outer).strides.push_back(strides[d]);
  }
  return rows;
}

// Calls f with the positions of one row after another.
template <typename F>
void for_each_row(const Rows& rows, F&& f) {
  std::vector<int64_t> positions;
  for_each_position(rows.outer_dims, rows.outer, [&](size_t base) {
    positions.clear();
    for_each_position(rows.inner_dims, rows.inner,
                      [&](size_t offset) { positions.push_back(static_cast<int64_t>(base + offset)); });
    if (!positions.empty()) f(positions);
  });
}

Result<Value> eval_softmax(Context& context, const Node& node, std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_of(context, node));
  const Array& x = *operands[0];
  for_each_row(rows_along(x, node.ints("dims")), [&](const std::vector<int64_t>& row) {
    double highest = -HUGE_VAL, sum = 0;
    for (const int64_t at : row) highest = std::fmax(highest, real(x, at));
    for (const int64_t at : row) sum += std::exp(real(x, at) - highest);
    for (const int64_t at : row) store(*result, at, std::exp(real(x, at) - highest) / sum);
  });
  return array_value(std::move(result));
}

bool has_flag(const Node& node, std::string_view key) {
  return !node.ints(key).empty() && node.ints(key)[0] != 0;
}

Result<Value> eval_norm(Context& context, const Node& node, std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_of(context, node));
  const Array& x = *operands[0];
  const bool centred = node.op == "layer_norm";
  size_t next = 1;
  const Array* gamma = has_flag(node, "scale") ? operands[next++].array.get() : nullptr;
  const Array* beta = has_flag(node, "shift") ? operands[next++].array.get() : nullptr;
  const Rows rows = rows_along(x, node.ints("dims"));
  for (const Array* each : {gamma, beta}) {
    if (each != nullptr && each->dims != rows.inner_dims) {
      return invalid_argument("an operand of a norm does not have the normalised dims");
    }
  }
  for_each_row(rows, [&](const std::vector<int64_t>& row) {
    const auto count = static_cast<double>(row.size());
    double mean = 0, square = 0;
    for (const int64_t at : row) mean += centred ? real(x, at) / count : 0;
    for (const int64_t at : row) square += (real(x, at) - mean) * (real(x, at) - mean) / count;
    const double root = std::sqrt(square + node.number("epsilon", 0));
    for (size_t i = 0; i < row.size(); ++i) {
      const auto inner = static_cast<int64_t>(i);
      const double factor = gamma != nullptr ? real(*gamma, inner) : 1;
      const double shift = beta != nullptr ? real(*beta, inner) : 0;
      store(*result, row[i], (real(x, row[i]) - mean) / root * factor + shift);
    }
  });
  return array_value(std::move(result));
}

double gelu(std::string_view form, double x) {
  if (form == "erf") return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
  if (form == "sigmoid") return x / (1 + std::exp(-1.702 * x));
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

Result<Value> eval_activation(Context& context, const Node& node, std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_of(context, node));
  for (int64_t i = 0; i < result->size(); ++i) {
    const double x = real(*operands[0], i);
    store(*result, i, node.op == "silu" ? x / (1 + std::exp(-x)) : gelu(node.text("form"), x));
  }
  return array_value(std::move(result));
}

Result<Value> eval_rope(Context& context, const Node& node, std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_of(context, node));
  const Array &x = *operands[0], &cosine = *operands[1], &sine = *operands[2];
  const std::vector<int64_t>& along = node.ints("dims");
  if (along.size() != cosine.dims.size() || cosine.dims != sine.dims || x.dims.empty() ||
      x.dims.back() % 2 != 0) {
    return invalid_argument("the operands of a rope node do not fit together");
  }
  const bool interleaved = node.text("layout") == "interleaved", half = node.text("table") == "half";
  const int64_t pairs = x.dims.back() / 2, step = interleaved ? 1 : pairs;
  const auto table_strides = row_major_strides(cosine.dims);
  Odometer index(x.dims);
  for (int64_t i = 0; i < x.size(); ++i, index.next()) {
    const int64_t feature = index.index().back();
    const bool second = interleaved ? feature % 2 == 1 : feature >= pairs;
    const int64_t pair = interleaved ? feature / 2 : feature % pairs;
    int64_t at = 0;
    for (size_t d = 0; d < along.size(); ++d) {
      const auto dim = static_cast<size_t>(along[d]);
      const bool is_feature = dim + 1 == x.dims.size();
      at += (is_feature && half ? pair : index.index()[dim]) * table_strides[d];
    }
    const double other = real(x, second ? i - step : i + step) * (second ? 1 : -1);
    store(*result, i, real(x, i) * real(cosine, at) + other * real(sine, at));
  }
  return array_value(std::move(result));
}

// The letters of an equation: one list an operand, then the result's.
std::vector<std::string> equation_parts(std::string_view equation) {
  std::vector<std::string> parts(1);
  for (const char letter : equation) {
    if (letter == ',' || letter == '-') parts.emplace_back();
    if (letter >= 'a' && letter <= 'z') parts.back() += letter;
  }
  return parts;
}

// Where each letter's index goes in one tensor.
struct Lettered {
  const Array* array = nullptr;
  std::array<int64_t, 26> strides{};

  int64_t at(const std::array<int64_t, 26>& index) const {
    int64_t position = 0;
    for (size_t i = 0; i < 26; ++i) position += index[i] * strides[i];
    return position;
  }
};

class Attention {
 public:
  static Result<Attention> make(const Node& node, std::span<const Value> operands, const Array& result) {
    Attention attention(node);
    const auto parts = equation_parts(node.text("equation"));
    if (parts.size() != operands.size() + 1 || operands.size() < 3) {
      return invalid_argument(fmt::format("attention has {} operands and the equation {}", operands.size(),
                                          node.text("equation")));
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      ZB_TRY(attention.add(parts[i], i < operands.size() ? *operands[i] : result));
    }
    return attention;
  }

  // Multiply-adds of the whole node.
  int64_t elements(std::string_view letters) const {
    int64_t count = 1;
    for (const char letter : letters) count *= size(letter);
    return count;
  }

  void run(Array& result) {
    std::string outer;
    for (char letter = 'a'; letter <= 'z'; ++letter) {
      if (sizes_[index_of(letter)] >= 0 && std::string_view("kde").find(letter) == std::string_view::npos) {
        outer += letter;
      }
    }
    std::array<int64_t, 26> index{};
    if (elements(outer) == 0) return;
    for (;;) {
      row(index, result);
      size_t i = outer.size();
      for (; i > 0; --i) {
        int64_t& at = index[index_of(outer[i - 1])];
        if (++at < size(outer[i - 1])) break;
        at = 0;
      }
      if (i == 0) return;
    }
  }

 private:
  explicit Attention(const Node& node) : scale_(node.number("scale", 1)), mask_(node.text("mask")) {
    sizes_.fill(-1);
  }

  static size_t index_of(char letter) { return static_cast<size_t>(letter - 'a'); }
  int64_t size(char letter) const { return sizes_[index_of(letter)] < 0 ? 1 : sizes_[index_of(letter)]; }

  Status add(const std::string& letters, const Array& array) {
    if (letters.size() != array.dims.size()) return invalid_argument("attention: a dim has no letter");
    Lettered tensor{&array, {}};
    const auto strides = row_major_strides(array.dims);
    for (size_t d = 0; d < letters.size(); ++d) {
      int64_t& known = sizes_[index_of(letters[d])];
      if (known >= 0 && known != array.dims[d]) return invalid_argument("attention: sizes do not fit");
      known = array.dims[d];
      tensor.strides[index_of(letters[d])] += strides[d];
    }
    tensors_.push_back(tensor);
    return {};
  }

  // One position of one query: all keys, then all features.
  void row(std::array<int64_t, 26>& index, Array& result) {
    scores_.assign(static_cast<size_t>(size('k')), 0);
    double highest = -HUGE_VAL, sum = 0;
    for (int64_t k = 0; k < size('k'); ++k) {
      index[index_of('k')] = k;
      double& score = scores_[static_cast<size_t>(k)];
      for (int64_t d = 0; d < size('d'); ++d) {
        index[index_of('d')] = d;
        score += value(0, index) * value(1, index);
      }
      index[index_of('d')] = 0;
      score = masked(score * scale_, index);
      highest = std::fmax(highest, score);
    }
    for (double& score : scores_) sum += score = std::exp(score - highest);
    for (int64_t e = 0; e < size('e'); ++e) {
      index[index_of('e')] = e;
      double total = 0;
      for (int64_t k = 0; k < size('k'); ++k) {
        index[index_of('k')] = k;
        total += scores_[static_cast<size_t>(k)] * value(2, index);
      }
      index[index_of('k')] = 0;
      store(result, tensors_.back().at(index), total / sum);
    }
    index[index_of('e')] = 0;
  }

  double value(size_t tensor, const std::array<int64_t, 26>& index) const {
    return real(*tensors_[tensor].array, tensors_[tensor].at(index));
  }

  double masked(double score, const std::array<int64_t, 26>& index) const {
    constexpr double kLeftOut = -1e30;  // finite: a row of these alone gives the mean
    if (mask_ == "causal") return index[index_of('k')] <= index[index_of('q')] ? score : kLeftOut;
    if (mask_ == "additive") return score + value(3, index);
    if (mask_ == "boolean") return value(3, index) != 0 ? score : kLeftOut;
    return score;
  }

  double scale_;
  std::string mask_;
  std::array<int64_t, 26> sizes_;  // -1 for letters that do not occur
  std::vector<Lettered> tensors_;  // the operands, then the result
  std::vector<double> scores_;
};

Result<Value> eval_attention(Context& context, const Node& node, std::span<const Value> operands) {
  ZB_ASSIGN(auto result, result_of(context, node));
  ZB_ASSIGN(Attention attention, Attention::make(node, operands, *result));
  ZB_TRY(context.budget().charge_product({result->size(), attention.elements("k"), 26}));
  ZB_TRY(context.budget().charge_product(
      {result->size(), attention.elements("k"), attention.elements("d"), 26}));
  attention.run(*result);
  return array_value(std::move(result));
}

struct Row {
  std::string_view op;
  GraphRule rule;
};
constexpr std::array kRules = std::to_array<Row>({{"softmax", eval_softmax},
                                                  {"layer_norm", eval_norm},
                                                  {"rms_norm", eval_norm},
                                                  {"silu", eval_activation},
                                                  {"gelu", eval_activation},
                                                  {"rope", eval_rope},
                                                  {"attention", eval_attention}});

}  // namespace

GraphRule find_float_rule(std::string_view op) {
  const auto row = std::find_if(kRules.begin(), kRules.end(), [&](const Row& each) { return each.op == op; });
  return row == kRules.end() ? nullptr : row->rule;
}

}  // namespace zomboss::oracle
