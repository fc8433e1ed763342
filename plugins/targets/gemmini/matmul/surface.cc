#include "plugins/targets/gemmini/matmul/surface.h"

#include <memory>
#include <utility>

namespace zomboss::gemmini {
namespace {

using wire::Category;
using wire::DefaultPolicy;
using wire::KnobType;

struct KnobInfo {
  Category category;
  KnobType type;
  DefaultPolicy policy;
  const char* doc;
  std::vector<const char*> labels;  // by value
};

KnobInfo info_of(Knob knob) {
  switch (knob) {
    case Knob::kOrientation:
      return {Category::Algorithm,
              KnobType::Choice,
              DefaultPolicy::Listed,
              "the product as written, or the transposed one with the operands' roles exchanged",
              {}};
    case Knob::kBatchRegions:
      return {Category::MatrixDecomposition,
              KnobType::Integer,
              DefaultPolicy::Smallest,
              "batches that take turns, each in a region of its own on chip",
              {}};
    case Knob::kTileK:
      return {Category::MatrixDecomposition,
              KnobType::Integer,
              DefaultPolicy::Smallest,
              "elements of the contraction in one macro tile",
              {}};
    case Knob::kTileM:
      return {Category::MatrixDecomposition,
              KnobType::Integer,
              DefaultPolicy::Smallest,
              "rows that move through the array in one macro tile",
              {}};
    case Knob::kTileN:
      return {Category::MatrixDecomposition,
              KnobType::Integer,
              DefaultPolicy::Smallest,
              "output columns of one macro tile",
              {}};
    case Knob::kBankPlacement:
      return {Category::Placement,
              KnobType::Choice,
              DefaultPolicy::Listed,
              "ends: A from the first scratchpad row up, B at the end; rows and copies: A in the first half "
              "and B in "
              "the second, each alternating between two quarters from block row to block row or from copy to "
              "copy",
              {"ends", "rows", "copies"}};
    case Knob::kAccBuffering:
      return {Category::MemoryPipeline,
              KnobType::Integer,
              DefaultPolicy::Smallest,
              "copies of the accumulator tile: 2 lets stores overlap the next tile",
              {}};
    case Knob::kBuffering:
      return {Category::MemoryPipeline,
              KnobType::Choice,
              DefaultPolicy::Listed,
              "copies of the operand tiles: one, two, or each tile in a place of its own",
              {"single", "double", "resident"}};
    case Knob::kLoadWidthA:
      return {Category::MemoryPipeline,
              KnobType::Integer,
              DefaultPolicy::Smallest,
              "blocks that one load of A moves",
              {}};
    case Knob::kLoadWidthB:
      return {Category::MemoryPipeline,
              KnobType::Integer,
              DefaultPolicy::Smallest,
              "blocks that one load of B moves",
              {}};
    case Knob::kStoreSchedule:
      return {
          Category::MemoryPipeline,
          KnobType::Choice,
          DefaultPolicy::Listed,
          "early: each block after its last step; row: wide stores as soon as a row of blocks is complete; "
          "late: "
          "wide stores after the macro tile; deferred: wide stores among the steps of the next macro tile",
          {"early", "row", "late", "deferred"}};
    case Knob::kLoopOrder:
      return {Category::LoopStructure,
              KnobType::Choice,
              DefaultPolicy::Listed,
              "which loop over macro tiles is the outer one; the contraction is the innermost",
              {"rows_outside", "columns_outside"}};
  }
  return {};
}

std::unique_ptr<wire::KnobT> wire_knob(Knob knob, const std::vector<int64_t>& values,
                                       const Problem& problem) {
  const KnobInfo info = info_of(knob);
  auto result = std::make_unique<wire::KnobT>();
  result->name = knob_name(knob);
  result->category = info.category;
  result->type = info.type;
  result->default_policy = info.policy;
  result->doc = info.doc;
  result->values = values;
  for (int64_t value : values) {
    if (knob == Knob::kOrientation)
      result->labels.push_back(problem.forms[static_cast<size_t>(value)].exchanged ? "exchanged"
                                                                                   : "as_written");
    else if (info.type == KnobType::Choice)
      result->labels.push_back(info.labels[static_cast<size_t>(value)]);
  }
  return result;
}

}  // namespace

wire::SurfaceT make_surface(const Problem& problem, const MachineModel& model) {
  const Domains domains = knob_domains(problem, model.machine);
  wire::SurfaceT surface;
  surface.target = "gemmini";
  surface.workload = problem.workload;
  surface.kind = wire::SurfaceKind::Catalog;
  for (size_t i = 0; i < kKnobs; ++i)
    surface.knobs.push_back(wire_knob(static_cast<Knob>(i), domains[i], problem));
  for (LegalityRule& rule : legality_rules(problem, model.machine, domains)) {
    auto constraint = std::make_unique<wire::ConstraintT>();
    constraint->name = std::move(rule.name);
    constraint->kind = rule.kind;
    constraint->assertion = std::move(rule.assertion);
    constraint->message = std::move(rule.message);
    constraint->needs = std::move(rule.needs);
    constraint->available = std::move(rule.available);
    surface.constraints.push_back(std::move(constraint));
  }
  Catalog catalog = make_catalog(problem, model, domains);
  for (const Mapping& row : catalog.rows) {
    const std::vector<int64_t> values = to_values(row, model.machine.dim);
    surface.catalog.insert(surface.catalog.end(), values.begin(), values.end());
  }
  surface.notes = std::move(catalog.notes);
  return surface;
}

}  // namespace zomboss::gemmini
