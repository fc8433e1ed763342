// Writes HLO text for the tests of recognition: shapes are inferred, so that a test shows the arithmetic.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace zomboss::oracle {

using Dims = std::vector<int64_t>;

// A value of the program.
struct Val {
  std::string name;
  std::string type;
  Dims dims;
};

class HloWriter {
 public:
  // The way of jax: a reshape to dims of size 1 and back around every broadcast, a second maximum.
  bool jax = false;

  std::string module(const std::vector<Val>& outputs) const {
    std::string reducers = "HloModule m\n";
    for (const char* type : {"f32", "f64", "bf16"}) {
      for (const char* op : {"add", "maximum"}) {
        reducers += fmt::format(
            "{0}_{1} {{\na = {1}[] parameter(0)\nb = {1}[] parameter(1)\nROOT r = {1}[] {0}(a, b)\n}}\n", op,
            type);
      }
    }
    std::string names;
    for (const Val& output : outputs) names += (names.empty() ? "" : ", ") + output.name;
    return fmt::format("{}ENTRY e {{\n{}ROOT out = tuple({})\n}}\n", reducers, text_, names);
  }

  Val op(std::string_view opcode, std::string_view type, const Dims& dims, std::string_view operands,
         std::string_view attributes = "") {
    Val value{fmt::format("v{}", count_++), std::string(type), dims};
    text_ += fmt::format("{} = {}[{}] {}({}){}{}\n", value.name, type, fmt::join(dims, ","), opcode, operands,
                         attributes.empty() ? "" : ", ", attributes);
    return value;
  }

  Val parameter(std::string_view type, const Dims& dims) {
    return op("parameter", type, dims, std::to_string(parameters_++));
  }
  Val unary(std::string_view opcode, const Val& x) { return op(opcode, x.type, x.dims, x.name); }
  Val binary(std::string_view opcode, const Val& a, const Val& b) {
    return op(opcode, a.type, a.dims, a.name + ", " + b.name);
  }
  Val convert(const Val& x, std::string_view type) {
    return x.type == type ? x : op("convert", type, x.dims, x.name);
  }
  Val reshape(const Val& x, const Dims& dims) { return op("reshape", x.type, dims, x.name); }
  Val transpose(const Val& x, const Dims& order) {
    Dims dims;
    for (const int64_t d : order) dims.push_back(x.dims[static_cast<size_t>(d)]);
    return op("transpose", x.type, dims, x.name, list("dimensions", order));
  }
  Val broadcast(const Val& x, const Dims& dims, const Dims& along) {
    return op("broadcast", x.type, dims, x.name, list("dimensions", along));
  }
  Val scalar(std::string_view type, std::string_view value) { return op("constant", type, {}, value); }
  // A constant with the type and dims of x.
  Val like(const Val& x, std::string_view value) { return broadcast(scalar(x.type, value), x.dims, {}); }
  Val with(std::string_view opcode, const Val& x, std::string_view value) {
    return binary(opcode, x, like(x, value));
  }

  // Over one dim, with dims of size 1 dropped.
  Val reduce(std::string_view reducer, const Val& x, int64_t dim) {
    const Val init = scalar(x.type, reducer == "add" ? "0" : "-inf");
    Dims dims = x.dims;
    dims.erase(dims.begin() + dim);
    const std::string attributes =
        list("dimensions", {dim}) + fmt::format(", to_apply={}_{}", reducer, x.type);
    Val result = op("reduce", x.type, dims, x.name + ", " + init.name, attributes);
    if (jax && reducer == "maximum") return binary("maximum", like(result, "-inf"), result);
    return result;
  }

  // The result of a reduction over `dim`, repeated along it.
  Val spread(Val x, int64_t dim, const Dims& dims) {
    Dims along;
    for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
      if (d != dim) along.push_back(d);
    }
    if (jax) {
      Dims unit = dims;
      unit[static_cast<size_t>(dim)] = 1;
      Dims all = along;
      all.insert(all.begin() + dim, dim);
      x = reshape(broadcast(reshape(x, unit), unit, all), x.dims);
    }
    return broadcast(x, dims, along);
  }

  // A vector along the last dim of x, repeated.
  Val row(Val vector, const Val& x) {
    if (jax) vector = reshape(reshape(vector, {1, vector.dims[0]}), vector.dims);
    return broadcast(vector, x.dims, {static_cast<int64_t>(x.dims.size()) - 1});
  }

  // Elements [start, limit) of dim `dim`.
  Val slice(const Val& x, int64_t dim, int64_t start, int64_t limit, int64_t stride = 1) {
    Dims dims = x.dims;
    std::string text;
    for (size_t d = 0; d < dims.size(); ++d) {
      const bool cut = static_cast<int64_t>(d) == dim;
      text += fmt::format("{}[{}:{}:{}]", d == 0 ? "" : ", ", cut ? start : 0, cut ? limit : dims[d],
                          cut ? stride : 1);
      if (cut) dims[d] = (limit - start + stride - 1) / stride;
    }
    return op("slice", x.type, dims, x.name, "slice={" + text + "}");
  }
  Val concatenate(const Val& a, const Val& b, int64_t dim) {
    Dims dims = a.dims;
    dims[static_cast<size_t>(dim)] += b.dims[static_cast<size_t>(dim)];
    return op("concatenate", a.type, dims, a.name + ", " + b.name, list("dimensions", {dim}));
  }
  Val iota(const Dims& dims, int64_t dim) {
    return op("iota", "s32", dims, "", fmt::format("iota_dimension={}", dim));
  }
  Val compare(std::string_view direction, const Val& a, const Val& b) {
    return op("compare", "pred", a.dims, a.name + ", " + b.name, fmt::format("direction={}", direction));
  }
  Val select(const Val& predicate, const Val& a, const Val& b) {
    return op("select", a.type, a.dims, predicate.name + ", " + a.name + ", " + b.name);
  }

  // With the batch dims first in the result, then those of a, then those of b.
  Val dot(const Val& a, const Val& b, const Dims& a_batch, int64_t a_contract, const Dims& b_batch,
          int64_t b_contract, std::string_view type = "") {
    Dims dims;
    for (const int64_t d : a_batch) dims.push_back(a.dims[static_cast<size_t>(d)]);
    add_free(a, a_batch, a_contract, dims);
    add_free(b, b_batch, b_contract, dims);
    const std::string attributes =
        list("lhs_batch_dims", a_batch) + ", " + list("lhs_contracting_dims", {a_contract}) + ", " +
        list("rhs_batch_dims", b_batch) + ", " + list("rhs_contracting_dims", {b_contract});
    return op("dot", type.empty() ? std::string_view(a.type) : type, dims, a.name + ", " + b.name,
              attributes);
  }
  Val linear(const Val& x, const Val& w) {
    return dot(x, w, {}, static_cast<int64_t>(x.dims.size()) - 1, {}, 0);
  }

  // Operators in one piece.
  Val softmax(const Val& x, int64_t dim) {
    const Val shifted = binary("subtract", x, spread(reduce("maximum", x, dim), dim, x.dims));
    const Val e = unary("exponential", shifted);
    if (x.type != "bf16") return binary("divide", e, spread(reduce("add", e, dim), dim, x.dims));
    const Val sum = convert(reduce("add", convert(e, "f32"), dim), x.type);
    return binary("divide", e, spread(sum, dim, x.dims));
  }
  Val silu(const Val& x) { return binary("multiply", x, unary("logistic", x)); }
  Val rms_norm(const Val& x, const Val& gamma) {
    const auto dim = static_cast<int64_t>(x.dims.size()) - 1;
    const Val mean =
        with("divide", reduce("add", binary("multiply", x, x), dim), std::to_string(x.dims.back()));
    const Val inverse = unary("rsqrt", with("add", mean, "1e-6"));
    return binary("multiply", binary("multiply", x, spread(inverse, dim, x.dims)), row(gamma, x));
  }
  // joined(-second half, first half) of the last dim.
  Val rotate_half(const Val& x) {
    const auto dim = static_cast<int64_t>(x.dims.size()) - 1;
    const int64_t half = x.dims.back() / 2;
    return concatenate(unary("negate", slice(x, dim, half, 2 * half)), slice(x, dim, 0, half), dim);
  }
  Val rope(const Val& x, const Val& cosine, const Val& sine, const Dims& along) {
    const Val c = broadcast(cosine, x.dims, along), s = broadcast(sine, x.dims, along);
    return binary("add", binary("multiply", x, c), binary("multiply", rotate_half(x), s));
  }
  // Scores whose last two dims are query and key, with those of later keys replaced.
  Val causal(const Val& scores, std::string_view low = "-inf") {
    const auto rank = static_cast<int64_t>(scores.dims.size());
    const Val later = compare("GE", iota(scores.dims, rank - 2), iota(scores.dims, rank - 1));
    return select(later, scores, like(scores, low));
  }

 private:
  static std::string list(std::string_view key, const Dims& items) {
    return fmt::format("{}={{{}}}", key, fmt::join(items, ","));
  }
  static void add_free(const Val& x, const Dims& batch, int64_t contract, Dims& dims) {
    for (int64_t d = 0; d < static_cast<int64_t>(x.dims.size()); ++d) {
      bool used = d == contract;
      for (const int64_t b : batch) used = used || b == d;
      if (!used) dims.push_back(x.dims[static_cast<size_t>(d)]);
    }
  }

  std::string text_;
  int count_ = 0;
  int parameters_ = 0;
};

}  // namespace zomboss::oracle
