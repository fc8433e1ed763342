// Layer norm and RMS norm, row by row.
#include <cmath>
#include <utility>

#include "plugins/targets/plena/lower/lowerer.h"
#include "zomboss/kit/bf16.h"

namespace zomboss::plena {
namespace {

// Columns from which on the roundings of single squares cancel well enough.
constexpr int64_t kManyColumns = 256;

}  // namespace

// RMS norm rounded once, and, for `low`, what that rounding took away. Products of numbers of four bits are
// exact in bf16, so rows and factors are multiplied in halves; the factor 1 / sqrt(m) of a mean square m in
// two parts is corrected by c = (1 - m f^2) / 2.
void Lowerer::stage_precise_norm(const Stage& stage) {
  const int64_t cols = value(stage.a).cols;
  const int64_t count = tiles(cols);
  const bool is_layer = stage.kind == StageKind::kLayerNorm;
  Panel x = panel(stage.a);
  std::optional<Panel> gamma, beta;
  if (stage.b != kNoValue) gamma = panel(stage.b);
  if (stage.c != kNoValue) beta = panel(stage.c);
  const std::optional<Panel> keep = kept_columns(cols);
  const Panel y = result_panel(stage);
  if (is_layer) {
    center_rows(stage, x, y, keep);
    x = y;
  }
  std::optional<Panel> low;
  if (stage.low != kNoValue)
    panels_[static_cast<size_t>(stage.low)] = low = new_panel(value(stage.low).rows, cols);
  const Panel scratch = new_panel(6, machine_.vlen);
  const Affine total = scratch.at(0, 0), part = scratch.at(1, 0), high = scratch.at(2, 0),
               rest = scratch.at(3, 0), lost = scratch.at(4, 0), inside = scratch.at(5, 0);
  tape_.loop(value(stage.a).rows, choices_.unroll_vector, [&](const Affine& row) {
    const bool exact_squares = !is_layer && value(stage.a).origin == Origin::kInput;  // of four bits
    const bool halve = !exact_squares && cols < kManyColumns;
    bool any_lost = false;
    const auto lose = [&](const Affine& what) {
      if (any_lost)
        tape_.vv(Opcode::kVAddVv, lost, lost, what);
      else
        tape_.vf(Opcode::kVAddVf, lost, what, tape_.zero());
      any_lost = true;
    };
    for (int64_t t = 0; t < count; ++t) {
      Affine source = x.at(row, t);
      if (keep && t + 1 == count) {
        tape_.vv(Opcode::kVMulVv, inside, source, keep->at(0, 0));
        source = inside;
      }
      const Affine square = t == 0 ? total : part;
      if (halve) {  // (h + l)^2 = h^2 + (2 h + l) l
        halve_vector(source, high, rest, part);
        tape_.vf(Opcode::kVAddVf, part, rest, tape_.zero());
        tape_.vv(Opcode::kVAddVv, rest, source, high);
        tape_.vv(Opcode::kVMulVv, rest, rest, part);
        lose(rest);
        tape_.vv(Opcode::kVMulVv, square, high, high);
      } else {
        tape_.vv(Opcode::kVMulVv, square, source, source);
      }
      if (t == 0) continue;
      // The sum, and what it loses: (a - (s - b')) + (b - b') with b' = s - a.
      tape_.vv(Opcode::kVAddVv, high, total, part);
      tape_.vv(Opcode::kVSubVv, rest, high, total);
      tape_.vv(Opcode::kVSubVv, inside, high, rest);
      tape_.vv(Opcode::kVSubVv, total, total, inside);
      tape_.vv(Opcode::kVSubVv, part, part, rest);
      tape_.vv(Opcode::kVAddVv, total, total, part);
      lose(total);
      tape_.vf(Opcode::kVAddVf, total, high, tape_.zero());
    }
    const NormFactor f = norm_factor(total, any_lost ? std::optional(lost) : std::nullopt,
                                     static_cast<float>(cols), static_cast<float>(stage.epsilon));
    for (int64_t t = 0; t < count; ++t) {
      const Affine out = y.at(row, t);
      Affine source = x.at(row, t);
      const bool gamma_first = gamma && exact_squares;  // the product is exact
      if (gamma_first) {
        tape_.vv(Opcode::kVMulVv, total, source, gamma->at(0, t));
        source = total;
      }
      halve_vector(source, high, rest, part);
      tape_.vf(Opcode::kVMulVf, out, source, f.factor);
      tape_.vf(Opcode::kVMulVf, lost, high, f.upper);
      tape_.vv(Opcode::kVSubVv, lost, lost, out);
      for (const auto& [vector, scalar] : {std::pair{rest, f.upper}, std::pair{high, f.lower},
                                           std::pair{rest, f.lower}, std::pair{out, f.correction}}) {
        tape_.vf(Opcode::kVMulVf, part, vector, scalar);
        tape_.vv(Opcode::kVAddVv, lost, lost, part);
      }
      if (gamma && !gamma_first) {  // (out + lost) * gamma, with the first product in halves
        halve_vector(out, high, rest, part);
        tape_.vv(Opcode::kVMulVv, lost, lost, gamma->at(0, t));
        tape_.vv(Opcode::kVMulVv, out, out, gamma->at(0, t));
        tape_.vv(Opcode::kVMulVv, high, high, gamma->at(0, t));
        tape_.vv(Opcode::kVSubVv, high, high, out);
        tape_.vv(Opcode::kVMulVv, rest, rest, gamma->at(0, t));
        tape_.vv(Opcode::kVAddVv, high, high, rest);
        tape_.vv(Opcode::kVAddVv, lost, lost, high);
      }
      if (!low) {
        if (beta) tape_.vv(Opcode::kVAddVv, lost, lost, beta->at(0, t));
        tape_.vv(Opcode::kVAddVv, out, out, lost);
        continue;
      }
      tape_.vv(Opcode::kVAddVv, part, out, lost);
      tape_.vv(Opcode::kVSubVv, high, part, out);
      tape_.vv(Opcode::kVSubVv, low->at(row, t), lost, high);
      tape_.vf(Opcode::kVAddVf, out, part, tape_.zero());
    }
  });
  release_panel(scratch);
}

// number = upper + lower, each of four bits or so. `part` is overwritten; `number` may be no result.
void Lowerer::halve_vector(const Affine& number, const Affine& upper, const Affine& lower,
                           const Affine& part) {
  tape_.vf(Opcode::kVMulVf, part, number, tape_.constant(17));
  tape_.vv(Opcode::kVSubVv, upper, number, part);
  tape_.vv(Opcode::kVAddVv, upper, part, upper);
  tape_.vv(Opcode::kVSubVv, lower, number, upper);
}

void Lowerer::halve_scalar(ScalarId number, ScalarId upper, ScalarId lower) {
  tape_.s_fp(Opcode::kSMulFp, upper, number, tape_.constant(17));
  tape_.s_fp(Opcode::kSSubFp, lower, number, upper);
  tape_.s_fp(Opcode::kSAddFp, upper, upper, lower);
  tape_.s_fp(Opcode::kSSubFp, lower, number, upper);
}

// (number, low) / cols, to twice the precision of bf16 for any cols.
void Lowerer::divide_by(ScalarId number, ScalarId low, float cols) {
  const auto constant = [&](double value) {
    return tape_.constant(kit::bf16_to_float(kit::bf16_round(static_cast<float>(value))));
  };
  const auto mul = [&](ScalarId to, ScalarId a, ScalarId b) { tape_.s_fp(Opcode::kSMulFp, to, a, b); };
  const auto add = [&](ScalarId to, ScalarId a, ScalarId b) { tape_.s_fp(Opcode::kSAddFp, to, a, b); };
  const auto sub = [&](ScalarId to, ScalarId a, ScalarId b) { tape_.s_fp(Opcode::kSSubFp, to, a, b); };
  const double inverse = 1.0 / static_cast<double>(cols);
  int exponent = 0;
  const double fraction = std::frexp(inverse, &exponent);
  mul(low, low, constant(inverse));
  if (fraction == 0.5) return mul(number, number, constant(inverse));        // exact
  const double upper = std::ldexp(std::floor(fraction * 16), exponent - 4);  // four bits
  const ScalarId high = tape_.variable(), rest = tape_.variable(), part = tape_.variable();
  halve_scalar(number, high, rest);
  mul(number, number, constant(inverse));
  mul(part, high, constant(upper));
  sub(part, part, number);
  add(low, low, part);
  for (const auto& [half, by] :
       {std::pair{rest, upper}, std::pair{high, inverse - upper}, std::pair{rest, inverse - upper}}) {
    mul(part, half, constant(by));
    add(low, low, part);
  }
}

// The factor of a row from the vector of its squares, in bf16 with its correction and in halves of four bits.
// Scalars die as early as can be: there are seven registers.
Lowerer::NormFactor Lowerer::norm_factor(const Affine& squares, const std::optional<Affine>& lost, float cols,
                                         float epsilon) {
  const auto variable = [&] { return tape_.variable(); };
  const auto mul = [&](ScalarId to, ScalarId a, ScalarId b) { tape_.s_fp(Opcode::kSMulFp, to, a, b); };
  const auto add = [&](ScalarId to, ScalarId a, ScalarId b) { tape_.s_fp(Opcode::kSAddFp, to, a, b); };
  const auto sub = [&](ScalarId to, ScalarId a, ScalarId b) { tape_.s_fp(Opcode::kSSubFp, to, a, b); };
  const ScalarId mean = variable(), mean_low = variable();  // of the squares
  add(mean, tape_.zero(), tape_.zero());
  tape_.red_sum(mean, squares);
  if (lost) tape_.red_sum(mean, *lost);
  sub(mean_low, tape_.zero(), mean);
  tape_.red_sum(mean_low, squares);
  if (lost) tape_.red_sum(mean_low, *lost);
  divide_by(mean, mean_low, cols);
  add(mean_low, mean_low, tape_.constant(epsilon));
  const ScalarId factor = variable();
  tape_.s_fp(Opcode::kSSqrtFp, factor, mean);
  tape_.s_fp(Opcode::kSReciFp, factor, factor);
  mul(mean_low, mean_low, factor);
  mul(mean_low, mean_low, factor);
  const ScalarId product = variable();  // mean * factor, with product_low
  mul(product, mean, factor);
  const ScalarId mean_upper = variable(), mean_lower = variable();
  halve_scalar(mean, mean_upper, mean_lower);
  NormFactor result;
  result.upper = variable();
  result.lower = variable();
  halve_scalar(factor, result.upper, result.lower);
  const ScalarId product_low = variable();
  mul(product_low, mean_upper, result.upper);
  mul(mean_upper, mean_upper, result.lower);
  sub(product_low, product_low, product);
  add(product_low, product_low, mean_upper);
  mul(mean_upper, mean_lower, result.upper);
  add(product_low, product_low, mean_upper);
  mul(mean_lower, mean_lower, result.lower);
  add(product_low, product_low, mean_lower);
  const ScalarId again = variable();
  add(again, result.upper, result.lower);
  mul(product_low, product_low, again);
  add(mean_low, mean_low, product_low);
  const ScalarId upper = variable(), lower = variable();
  halve_scalar(product, upper, lower);
  const ScalarId error =
      variable();  // mean * factor^2 - 1, from the largest terms, which cancel, to the smallest
  mul(error, upper, result.upper);
  add(error, error, tape_.constant(-1));
  mul(upper, upper, result.lower);
  add(error, error, upper);
  mul(upper, lower, result.upper);
  add(error, error, upper);
  mul(lower, lower, result.lower);
  add(error, error, lower);
  add(error, error, mean_low);
  result.factor = variable();
  add(result.factor, result.upper, result.lower);
  result.correction = variable();
  mul(result.correction, error, tape_.constant(0.375f));  // (1 + e)^(-1/2) = 1 - e / 2 + 3 e^2 / 8
  add(result.correction, result.correction, tape_.constant(-0.5f));
  mul(result.correction, result.correction, error);
  return result;
}

// y = x less the mean of its row, which is known in two parts; zero beyond the columns.
void Lowerer::center_rows(const Stage& stage, const Panel& x, const Panel& y,
                          const std::optional<Panel>& keep) {
  const int64_t count = tiles(value(stage.a).cols);
  const Panel scratch = new_panel(2, machine_.vlen);
  const Affine part = scratch.at(0, 0), rest = scratch.at(1, 0);
  tape_.loop(value(stage.a).rows, choices_.unroll_vector, [&](const Affine& row) {
    const ScalarId mean = tape_.variable(), low = tape_.variable();
    tape_.s_fp(Opcode::kSAddFp, mean, tape_.zero(), tape_.zero());
    tape_.s_fp(Opcode::kSAddFp, low, tape_.zero(), tape_.zero());
    for (int64_t t = 0; t < count; ++t) {
      Affine from = x.at(row, t);
      if (keep && t + 1 == count) {
        tape_.vv(Opcode::kVMulVv, part, from, keep->at(0, 0));
        from = part;
      }
      const ScalarId before = tape_.variable();  // what the sum of sums loses
      tape_.s_fp(Opcode::kSAddFp, before, mean, tape_.zero());
      tape_.red_sum(mean, from);
      tape_.s_fp(Opcode::kSSubFp, before, before, mean);
      tape_.red_sum(before, from);
      tape_.s_fp(Opcode::kSAddFp, low, low, before);
    }
    divide_by(mean, low, static_cast<float>(value(stage.a).cols));
    for (int64_t t = 0; t < count; ++t) {
      const Affine from = x.at(row, t), to = y.at(row, t);
      tape_.v_sub_f(part, from, mean, false);  // rounded; and what that loses
      tape_.vv(Opcode::kVSubVv, rest, from, part);
      tape_.v_sub_f(rest, rest, mean, false);
      tape_.v_sub_f(rest, rest, low, false);
      tape_.vv(Opcode::kVAddVv, to, part, rest);
      if (keep && t + 1 == count) tape_.vv(Opcode::kVMulVv, to, to, keep->at(0, 0));
    }
  });
  release_panel(scratch);
}

void Lowerer::stage_norm(const Stage& stage) {
  if (stage.precise || choices_.precise_norm != 0) return stage_precise_norm(stage);
  const bool is_layer = stage.kind == StageKind::kLayerNorm;
  const int64_t cols = value(stage.a).cols;
  const int64_t rows = value(stage.a).rows;
  const int64_t count = tiles(cols);
  const Panel x = panel(stage.a);
  std::optional<Panel> gamma, beta;
  if (stage.b != kNoValue) gamma = panel(stage.b);
  if (stage.c != kNoValue) beta = panel(stage.c);
  const std::optional<Panel> keep = kept_columns(cols);
  const Panel y = result_panel(stage);
  const Panel scratch = new_panel(1, cols);
  const bool centered = is_layer && choices_.layer_norm == LayerNormForm::kCentered;
  const bool add_first = choices_.norm_sums == NormSums::kAddFirst && count > 1;
  const float upper = kit::bf16_to_float(kit::bf16_round(1.0f / static_cast<float>(cols)));
  const auto rest = static_cast<float>(1.0 / static_cast<double>(cols) - static_cast<double>(upper));
  const ScalarId inverse = tape_.constant(upper);
  const ScalarId epsilon = tape_.constant(static_cast<float>(stage.epsilon));
  const Opcode multiply = Opcode::kVMulVv;
  // Adds up `count` vectors of a row; those beyond the columns count as zero.
  const auto sum_of = [&](const std::function<Affine(int64_t)>& vector) {
    const ScalarId sum = tape_.variable();
    tape_.s_fp(Opcode::kSAddFp, sum, tape_.zero(), tape_.zero());
    const Affine total = scratch.at(0, 0);
    if (add_first) {
      for (int64_t t = 1; t < count; ++t)
        tape_.vv(Opcode::kVAddVv, total, t == 1 ? vector(0) : total, vector(t));
      tape_.red_sum(sum, total);
    } else {
      for (int64_t t = 0; t < count; ++t) tape_.red_sum(sum, vector(t));
    }
    if (rest != 0) {  // 1 / cols is no bf16
      const ScalarId more = tape_.variable();
      tape_.s_fp(Opcode::kSMulFp, more, sum, tape_.constant(rest));
      tape_.s_fp(Opcode::kSMulFp, sum, sum, inverse);
      tape_.s_fp(Opcode::kSAddFp, sum, sum, more);
    } else {
      tape_.s_fp(Opcode::kSMulFp, sum, sum, inverse);
    }
    return sum;
  };
  tape_.loop(rows, choices_.unroll_vector, [&](const Affine& row) {
    const auto in = [&](int64_t t) { return x.at(row, t); };
    const auto out = [&](int64_t t) { return y.at(row, t); };
    const auto square = [&](int64_t t) { return scratch.at(0, t); };
    bool moved = false;
    if (keep) {  // what lies beyond the columns must not count
      for (int64_t t = 0; t + 1 < count && x.first != y.first; ++t)
        tape_.vf(Opcode::kVAddVf, out(t), in(t), tape_.zero());
      tape_.vv(multiply, out(count - 1), in(count - 1), keep->at(0, 0));
      moved = true;
    }
    const auto source = [&](int64_t t) { return moved ? out(t) : in(t); };
    ScalarId mean = kNoScalar;
    if (is_layer) mean = sum_of(source);
    if (centered) {
      for (int64_t t = 0; t < count; ++t) tape_.v_sub_f(out(t), source(t), mean, false);
      if (keep) tape_.vv(multiply, out(count - 1), out(count - 1), keep->at(0, 0));
      moved = true;
    }
    for (int64_t t = 0; t < count; ++t) tape_.vv(multiply, square(t), source(t), source(t));
    const ScalarId spread = sum_of(square);
    if (is_layer && !centered) {
      const ScalarId squared = tape_.variable();
      tape_.s_fp(Opcode::kSMulFp, squared, mean, mean);
      tape_.s_fp(Opcode::kSSubFp, spread, spread, squared);
    }
    tape_.s_fp(Opcode::kSAddFp, spread, spread, epsilon);
    tape_.s_fp(Opcode::kSSqrtFp, spread, spread);
    tape_.s_fp(Opcode::kSReciFp, spread, spread);
    for (int64_t t = 0; t < count; ++t) {
      Affine from = source(t);
      if (is_layer && !centered) {
        tape_.v_sub_f(out(t), from, mean, false);
        from = out(t);
      }
      tape_.vf(Opcode::kVMulVf, out(t), from, spread);
      if (gamma) tape_.vv(multiply, out(t), out(t), gamma->at(0, t));
      if (beta) tape_.vv(Opcode::kVAddVv, out(t), out(t), beta->at(0, t));
    }
  });
  release_panel(scratch);
}

}  // namespace zomboss::plena
