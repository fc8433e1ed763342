#include "plugins/targets/plena/lower/lowerer.h"

#include <fmt/format.h>

namespace zomboss::plena {

Lowerer::Lowerer(const Problem& problem, const Machine& machine, const Choices& choices)
    : problem_(problem),
      machine_(machine),
      choices_(choices),
      tape_(out_.tape),
      last_use_(problem.last_use()),
      panels_(problem.values.size()) {}

Result<Lowered> Lowerer::run() {
  place_inputs();
  if (choices_.early_loads != 0) {
    tape_.region("load");
    for (size_t id = 0; id < problem_.values.size(); ++id) {
      if (problem_.values[id].origin == Origin::kInput && problem_.values[id].as_rows)
        panel(static_cast<ValueId>(id));
    }
  }
  for (size_t s = 0; s < problem_.stages.size() && status_.ok(); ++s) {
    const Stage& stage = problem_.stages[s];
    tape_.region(stage.name);
    switch (stage.kind) {
      case StageKind::kMatmul:
        stage_matmul(stage);
        break;
      case StageKind::kAttention:
        stage.absorbed_key != kNoValue ? stage_absorbed_attention(stage) : stage_attention(stage);
        break;
      case StageKind::kSoftmax:
        stage_softmax(stage);
        break;
      case StageKind::kLayerNorm:
      case StageKind::kRmsNorm:
        stage_norm(stage);
        break;
      case StageKind::kMap:
      case StageKind::kBinary:
      case StageKind::kScalar:
        if (!is_accumulated(stage)) s = stage_vectors(s);
        break;
      case StageKind::kRope:
        stage_rope(stage);
        break;
      case StageKind::kReduce:
        stage_reduce(stage);
        break;
      case StageKind::kColumn:
        stage_column(stage);
        break;
    }
    finish_stage(s);
  }
  if (!status_.ok()) return status_;
  for (const View& output : problem_.outputs)
    out_.outputs.push_back(*panels_[static_cast<size_t>(output.value)]);
  out_.vector_rows = space_.high_water();
  if (out_.vector_rows > machine_.vram_rows)
    return resource_exhausted(fmt::format("the vector SRAM has {} rows, this mapping needs {}",
                                          machine_.vram_rows, out_.vector_rows));
  if (out_.matrix_tiles > machine_.mram_tiles)
    return resource_exhausted(fmt::format("the matrix SRAM has {} tiles, this mapping needs {}",
                                          machine_.mram_tiles, out_.matrix_tiles));
  if (hbm_end_ > machine_.hbm_bytes)
    return resource_exhausted(
        fmt::format("the HBM has {} bytes, the tensors need {}", machine_.hbm_bytes, hbm_end_));
  return std::move(out_);
}

Result<Lowered> lower_problem(const Problem& problem, const Machine& machine, const Choices& choices) {
  return Lowerer(problem, machine, choices).run();
}

}  // namespace zomboss::plena
