#include "plugins/targets/gemmini/matmul/surface.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace zomboss::gemmini {
namespace {

using wire::Category;
using wire::DefaultPolicy;
using wire::KnobType;

struct KnobInfo {
  Category category;
  const char* doc;
  std::vector<const char*> labels = {};  // of a choice, by value; otherwise it is an integer
};

const KnobInfo& info_of(Knob knob) {
  static const std::vector<KnobInfo> kInfo = {
      {Category::Algorithm,
       "what stays in the array: a block of B while rows of A stream through, or a block of C while A and B "
       "do",
       {"weight_stationary", "output_stationary"}},
      {Category::Algorithm,
       "who unrolls a macro tile into moves and steps: the kernel, or the hardware's loop_ws",
       {"primitives", "loop_ws"}},
      {Category::Algorithm,
       "the product as written, or the transposed one with the operands' roles exchanged; folded: so many "
       "short rows of "
       "A and C side by side, as one row that a wide move takes at once",
       {"as_written", "exchanged"}},
      {Category::MatrixDecomposition, "batches that take turns, each in a region of its own on chip"},
      {Category::MatrixDecomposition, "elements of the contraction in one macro tile"},
      {Category::MatrixDecomposition, "rows that move through the array in one macro tile"},
      {Category::MatrixDecomposition, "output columns of one macro tile"},
      {Category::Placement,
       "ends: A from the first scratchpad row up, B at the end; the others: A in the first half and B in the "
       "second, "
       "each alternating between two quarters from block row to block row, from load to load along the "
       "columns, or "
       "from copy to copy",
       {"ends", "rows", "loads", "copies"}},
      {Category::MemoryPipeline, "copies of the accumulator tile: 2 lets stores overlap the next tile"},
      {Category::MemoryPipeline,
       "copies of the tiles of A: one, two, or each tile in a place of its own",
       {"single", "double", "resident"}},
      {Category::MemoryPipeline,
       "copies of the tiles of B: one, two, or each tile in a place of its own",
       {"single", "double", "resident"}},
      {Category::MemoryPipeline,
       "order of the loads of a macro tile: by first use, just in time; or all of A or of B before the other",
       {"just_in_time", "a_first", "b_first"}},
      {Category::MemoryPipeline, "blocks that one load of A moves"},
      {Category::MemoryPipeline, "blocks that one load of B moves"},
      {Category::MemoryPipeline,
       "early: a store as soon as what it moves is complete; late: after the macro tile; deferred: among the "
       "steps "
       "of the next macro tile",
       {"early", "late", "deferred"}},
      {Category::MemoryPipeline, "blocks that one store moves"},
      {Category::ExecutionPipeline,
       "where the kernel waits for the unit: at its end, or after each batch as well",
       {"once", "batch"}},
      {Category::LoopStructure,
       "loops over a macro tile's steps from the outer to the inner one: m rows, n columns, k contraction",
       {"knm", "kmn", "mnk", "nmk"}},
      {Category::LoopStructure,
       "which loop over macro tiles is the outer one; the contraction is the innermost",
       {"rows_outside", "columns_outside"}}};
  return kInfo[static_cast<size_t>(knob)];
}

std::unique_ptr<wire::KnobT> wire_knob(Knob knob, const std::vector<int64_t>& values,
                                       const Problem& problem) {
  const KnobInfo& info = info_of(knob);
  const bool choice = !info.labels.empty();
  auto result = std::make_unique<wire::KnobT>();
  result->name = knob_name(knob);
  result->category = info.category;
  result->type = choice ? KnobType::Choice : KnobType::Integer;
  result->default_policy = choice ? DefaultPolicy::Listed : DefaultPolicy::Smallest;
  result->doc = info.doc;
  result->values = values;
  if (!choice) return result;
  for (int64_t value : values) {
    // The orientations that there are come in the order of their forms.
    if (knob != Knob::kOrientation) {
      result->labels.emplace_back(info.labels[static_cast<size_t>(value)]);
      continue;
    }
    const Form& form = problem.forms[static_cast<size_t>(value)];
    result->labels.push_back(info.labels[form.exchanged ? 1 : 0] +
                             (form.fold == 1 ? std::string() : fmt::format("_folded_{}", form.fold)));
  }
  return result;
}

}  // namespace

wire::SurfaceT bare_surface(const Problem& problem, const MachineModel& model, const Domains& domains) {
  wire::SurfaceT surface;
  surface.target = "gemmini";
  surface.workload = problem.workload;
  surface.kind = wire::SurfaceKind::Conditional;
  for (size_t i = 0; i < kKnobs; ++i)
    surface.knobs.push_back(wire_knob(static_cast<Knob>(i), domains.values[i], problem));
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
  if (const auto& library = domains.library) {
    auto reference = std::make_unique<wire::ReferenceT>();
    reference->name = "library";
    reference->values = to_values(*library, model.machine.dim);
    reference->doc =
        "the vendor's tiled_matmul_auto: its tile sizes, loop_ws, one call and one fence for each batch";
    surface.references.push_back(std::move(reference));
  }
  return surface;
}

wire::SurfaceT make_surface(const Problem& problem, const MachineModel& model) {
  const Domains domains = knob_domains(problem, model.machine);
  wire::SurfaceT surface = bare_surface(problem, model, domains);
  surface.kind = wire::SurfaceKind::Catalog;
  Catalog catalog = make_catalog(problem, model, domains);
  for (const Mapping& row : catalog.rows) {
    const std::vector<int64_t> values = to_values(row, model.machine.dim);
    surface.catalog.insert(surface.catalog.end(), values.begin(), values.end());
  }
  surface.notes = std::move(catalog.notes);
  return surface;
}

}  // namespace zomboss::gemmini
