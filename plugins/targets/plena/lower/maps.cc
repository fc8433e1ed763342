// Element by element operators, and reductions of rows with what is done with their results.
#include <cmath>

#include "plugins/targets/plena/features.h"
#include "plugins/targets/plena/lower/lowerer.h"

namespace zomboss::plena {

// x / (1 + exp(-x)) with what the sum and the reciprocal round away brought back. `scratch` has seven rows.
void Lowerer::precise_silu(const Affine& to, const Affine& from, const Panel& scratch) {
  const auto row = [&](int64_t i) { return scratch.at(i, 0); };
  const Affine e = row(0), sum = row(1), lost = row(2), inverse = row(3), high = row(4), low = row(5),
               part = row(6);
  const auto mul = [&](const Affine& out, const Affine& a, const Affine& b) {
    tape_.vv(Opcode::kVMulVv, out, a, b);
  };
  tape_.vf(Opcode::kVMulVf, e, from, tape_.constant(-1));
  tape_.v_exp(e, e);
  tape_.vf(Opcode::kVAddVf, sum, e, tape_.constant(1));
  tape_.vf(Opcode::kVAddVf, lost, sum, tape_.constant(-1));
  tape_.vv(Opcode::kVSubVv, lost, e, lost);  // 1 + exp(-x) - sum
  tape_.v_reci(inverse, sum);
  mul(lost, lost, inverse);
  // 1 - sum * inverse from products of halves, minus lost * inverse.
  halve_vector(sum, high, low, part);
  halve_vector(inverse, e, sum, part);
  mul(part, high, e);
  tape_.v_sub_f(part, part, tape_.constant(1), true);
  mul(high, high, sum);
  tape_.vv(Opcode::kVSubVv, part, part, high);
  mul(e, low, e);
  tape_.vv(Opcode::kVSubVv, part, part, e);
  mul(low, low, sum);
  tape_.vv(Opcode::kVSubVv, part, part, low);
  tape_.vv(Opcode::kVSubVv, part, part, lost);
  mul(to, from, inverse);
  mul(part, part, to);
  tape_.vv(Opcode::kVAddVv, to, to, part);
}

Lowerer::VectorStep Lowerer::map_step(const Stage& stage) {
  const Panel x = panel(stage.a);
  const Panel y = result_panel(stage);
  const bool precise = stage.precise && stage.map == MapKind::kSilu && choices_.precise_silu != 0;
  const Panel temporary = new_panel(precise ? 7 : 1, machine_.vlen);
  std::optional<Panel> copy;
  if (precise && x.first == y.first) copy = new_panel(1, machine_.vlen);
  const Affine t = temporary.at(0, 0);
  const auto constant = [this](double number) { return tape_.constant(static_cast<float>(number)); };
  const auto times = [this, constant](const Affine& to, const Affine& from, double number) {
    tape_.vf(Opcode::kVMulVf, to, from, constant(number));
  };
  // 1 / (1 + exp(t)) in t.
  const auto finish_sigmoid = [this, constant, t] {
    tape_.v_exp(t, t);
    tape_.vf(Opcode::kVAddVf, t, t, constant(1));
    tape_.v_reci(t, t);
  };
  VectorStep step{value(stage.a).rows, x.tiles, {}, {}};
  step.body = [=, this, &stage](const Affine& row, const Affine& tile) {
    const Affine from = x.at(row, tile);
    const Affine to = y.at(row, tile);
    if (precise) {
      if (x.first == y.first) {  // the operand is needed to the end
        tape_.vf(Opcode::kVAddVf, copy->at(0, 0), from, tape_.zero());
        return precise_silu(to, copy->at(0, 0), temporary);
      }
      return precise_silu(to, from, temporary);
    }
    switch (stage.map) {
      case MapKind::kRelu:
        return tape_.vf(Opcode::kVMaxVf, to, from, tape_.zero());
      case MapKind::kNegate:
        return times(to, from, -1);
      case MapKind::kExp:
        return tape_.v_exp(to, from);
      case MapKind::kReciprocal:
        return tape_.v_reci(to, from);
      case MapKind::kSquare:
        return tape_.vv(Opcode::kVMulVv, to, from, from);
      case MapKind::kLogistic:
      case MapKind::kSilu:
        times(t, from, -1);
        finish_sigmoid();
        break;
      case MapKind::kGeluSigmoid:
        times(t, from, -1.702);
        finish_sigmoid();
        break;
      case MapKind::kGeluErf:
      case MapKind::kGeluTanh: {
        if (choices_.gelu == GeluForm::kSigmoid) {
          times(t, from, -1.702);
        } else {  // tanh through the logistic function: -2 * sqrt(2 / pi) * (x + 0.044715 x^3)
          const double factor = -2 * std::sqrt(2 / 3.14159265358979323846);
          tape_.vv(Opcode::kVMulVv, t, from, from);
          times(t, t, factor * 0.044715);
          tape_.vf(Opcode::kVAddVf, t, t, constant(factor));
          tape_.vv(Opcode::kVMulVv, t, t, from);
        }
        finish_sigmoid();
        break;
      }
      case MapKind::kTanh:  // 2 / (1 + exp(-2 x)) - 1
        times(t, from, -2);
        finish_sigmoid();
        times(t, t, 2);
        return tape_.vf(Opcode::kVAddVf, to, t, constant(-1));
    }
    if (stage.map == MapKind::kLogistic)
      tape_.vf(Opcode::kVAddVf, to, t, tape_.zero());
    else
      tape_.vv(Opcode::kVMulVv, to, t, from);
  };
  step.temporaries = {temporary};
  if (copy) step.temporaries.push_back(*copy);
  return step;
}

Lowerer::VectorStep Lowerer::binary_step(const Stage& stage) {
  const Panel a = panel(stage.a);
  const Panel b = panel(stage.b);
  const bool one_row = value(stage.b).rows == 1 && value(stage.a).rows != 1;
  const Panel y = result_panel(stage);
  std::optional<Panel> temporary;
  if (stage.binary == BinaryKind::kDivide) temporary = new_panel(1, machine_.vlen);
  VectorStep step{value(stage.a).rows, a.tiles, {}, {}};
  step.body = [=, this, &stage](const Affine& row, const Affine& tile) {
    Affine left = a.at(row, tile);
    Affine right = b.at(one_row ? Affine(0) : row, tile);
    const Affine to = y.at(row, tile);
    if (stage.reversed) std::swap(left, right);
    switch (stage.binary) {
      case BinaryKind::kAdd:
        return tape_.vv(Opcode::kVAddVv, to, left, right);
      case BinaryKind::kSubtract:
        return tape_.vv(Opcode::kVSubVv, to, left, right);
      case BinaryKind::kMultiply:
        return tape_.vv(Opcode::kVMulVv, to, left, right);
      default:
        tape_.v_reci(temporary->at(0, 0), right);
        return tape_.vv(Opcode::kVMulVv, to, left, temporary->at(0, 0));
    }
  };
  if (temporary) step.temporaries = {*temporary};
  return step;
}

Lowerer::VectorStep Lowerer::scalar_step(const Stage& stage) {
  const Panel a = panel(stage.a);
  const Panel y = result_panel(stage);
  const auto constant = [this](double number) { return tape_.constant(static_cast<float>(number)); };
  const double number = stage.number;
  VectorStep step{value(stage.a).rows, a.tiles, {}, {}};
  step.body = [=, this, &stage](const Affine& row, const Affine& tile) {
    const Affine from = a.at(row, tile);
    const Affine to = y.at(row, tile);
    switch (stage.binary) {
      case BinaryKind::kAdd:
        return tape_.vf(Opcode::kVAddVf, to, from, constant(number));
      case BinaryKind::kSubtract:
        return stage.reversed ? tape_.v_sub_f(to, from, constant(number), true)
                              : tape_.vf(Opcode::kVAddVf, to, from, constant(-number));
      case BinaryKind::kMultiply:
        return tape_.vf(Opcode::kVMulVf, to, from, constant(number));
      case BinaryKind::kDivide:
        if (!stage.reversed) return tape_.vf(Opcode::kVMulVf, to, from, constant(1 / number));
        tape_.v_reci(to, from);
        return number == 1 ? void() : tape_.vf(Opcode::kVMulVf, to, to, constant(number));
      case BinaryKind::kMaximum:
        return tape_.vf(Opcode::kVMaxVf, to, from, constant(number));
      case BinaryKind::kMinimum:
        return tape_.vf(Opcode::kVMinVf, to, from, constant(number));
    }
  };
  return step;
}

// The stage and, when vectors are fused, those after it that go on element by element. Returns the last one.
size_t Lowerer::stage_vectors(size_t first) {
  size_t last = first;
  while (choices_.fuse_vectors != 0 && last + 1 < problem_.stages.size() && may_fuse(problem_, last + 1) &&
         !is_accumulated(problem_.stages[last + 1]))
    ++last;
  std::vector<VectorStep> steps;
  for (size_t s = first; s <= last; ++s) {
    const Stage& stage = problem_.stages[s];
    steps.push_back(stage.kind == StageKind::kMap      ? map_step(stage)
                    : stage.kind == StageKind::kBinary ? binary_step(stage)
                                                       : scalar_step(stage));
  }
  each_vector(steps.front().rows, steps.front().tiles, [&](const Affine& row, const Affine& tile) {
    for (const VectorStep& step : steps) step.body(row, tile);
  });
  for (const VectorStep& step : steps) {
    for (const Panel& each : step.temporaries) release_panel(each);
  }
  return last;
}

// A value with one column lies in the FP SRAM, one slot a row, counted from its end.
int64_t Lowerer::column_slots(ValueId id) {
  const auto [at, inserted] = columns_.try_emplace(id, 0);
  if (inserted) {
    columns_end_ += value(id).rows;
    at->second = static_cast<int64_t>(machine_.fp_slots) - columns_end_;
    if (at->second < 64)
      fail(resource_exhausted("row results need more slots of the FP SRAM than there are"));
  }
  return at->second;
}

void Lowerer::stage_reduce(const Stage& stage) {
  const Panel a = panel(stage.a);
  const int64_t cols = value(stage.a).cols;
  const int64_t slot = column_slots(stage.out);
  const bool sum = stage.binary == BinaryKind::kAdd;
  const std::optional<Panel> keep = sum ? kept_columns(cols) : masked_columns(cols);
  std::optional<Panel> last;
  if (keep) last = new_panel(1, machine_.vlen);
  tape_.loop(value(stage.a).rows, choices_.unroll_vector, [&](const Affine& row) {
    const ScalarId result = tape_.variable();
    tape_.set(result, sum ? 0.0f : -INFINITY);
    for (int64_t t = 0; t < a.tiles; ++t) {
      Affine from = a.at(row, t);
      if (keep && t + 1 == a.tiles) {
        tape_.vv(sum ? Opcode::kVMulVv : Opcode::kVAddVv, last->at(0, 0), from, keep->at(0, 0));
        from = last->at(0, 0);
      }
      if (sum)
        tape_.red_sum(result, from);
      else
        tape_.red_max(result, from);
    }
    tape_.s_store(result, row + slot);
  });
  if (last) release_panel(*last);
}

void Lowerer::stage_column(const Stage& stage) {
  const Panel a = panel(stage.a);
  const Panel y = result_panel(stage);
  const int64_t slot = column_slots(stage.b);
  tape_.loop(value(stage.a).rows, choices_.unroll_vector, [&](const Affine& row) {
    const ScalarId number = tape_.variable();
    tape_.s_load(number, row + slot);
    if (stage.binary == BinaryKind::kDivide && !stage.reversed) tape_.s_fp(Opcode::kSReciFp, number, number);
    for (int64_t t = 0; t < a.tiles; ++t) {
      const Affine from = a.at(row, t);
      const Affine to = y.at(row, t);
      switch (stage.binary) {
        case BinaryKind::kAdd:
          tape_.vf(Opcode::kVAddVf, to, from, number);
          break;
        case BinaryKind::kSubtract:
          tape_.v_sub_f(to, from, number, stage.reversed);
          break;
        case BinaryKind::kMultiply:
          tape_.vf(Opcode::kVMulVf, to, from, number);
          break;
        case BinaryKind::kMaximum:
          tape_.vf(Opcode::kVMaxVf, to, from, number);
          break;
        case BinaryKind::kMinimum:
          tape_.vf(Opcode::kVMinVf, to, from, number);
          break;
        case BinaryKind::kDivide:
          if (stage.reversed) tape_.v_reci(to, from);
          tape_.vf(Opcode::kVMulVf, to, stage.reversed ? to : from, number);
          break;
      }
    }
  });
}

}  // namespace zomboss::plena
