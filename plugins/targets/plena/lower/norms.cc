// Layer norm and RMS norm, row by row.
#include "plugins/targets/plena/lower/lowerer.h"

namespace zomboss::plena {

void Lowerer::stage_norm(const Stage& stage) {
  const bool is_layer = stage.kind == StageKind::kLayerNorm;
  const int64_t cols = value(stage.a).cols;
  const int64_t rows = value(stage.a).rows;
  const int64_t count = tiles(cols);
  const int64_t tail = cols % machine_.vlen;
  const Panel x = panel(stage.a);
  std::optional<Panel> gamma, beta, keep;
  if (stage.b != kNoValue) gamma = panel(stage.b);
  if (stage.c != kNoValue) beta = panel(stage.c);
  if (tail != 0)
    keep = constant_row("keep" + std::to_string(tail), [tail](int64_t i) { return i < tail ? 1.0f : 0.0f; });
  const Panel y = result_panel(stage);
  const Panel scratch = new_panel(1, cols);
  const bool centered = is_layer && choices_.layer_norm == LayerNormForm::kCentered;
  const bool add_first = choices_.norm_sums == NormSums::kAddFirst && count > 1;
  const ScalarId inverse = tape_.constant(1.0f / static_cast<float>(cols));
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
    tape_.s_fp(Opcode::kSMulFp, sum, sum, inverse);
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
