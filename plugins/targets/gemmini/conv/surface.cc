#include "plugins/targets/gemmini/conv/surface.h"

#include <memory>
#include <utility>

#include "plugins/targets/gemmini/conv/library.h"

namespace zomboss::gemmini::conv {
namespace {

using wire::Category;
using wire::DefaultPolicy;
using wire::KnobType;

struct KnobInfo {
  Category category = Category::Algorithm;
  const char* doc = "";
  std::vector<const char*> labels;  // by value; none of an integer
};

KnobInfo info_of(Knob knob) {
  switch (knob) {
    case Knob::kDepthwise:
      return {Category::Algorithm,
              "how a depthwise convolution is a product: whole blocks of channels against diagonal weights, "
              "or one "
              "channel after the other",
              {"diagonal", "channels"}};
    case Knob::kInterface:
      return {Category::Algorithm,
              "im2col: every tap's pixels are loaded as a block of their own; direct: the input patch is "
              "loaded once "
              "and taps are rows of it; loop: the hardware unrolls macro tiles (loop_conv_ws)",
              {"im2col", "direct", "loop"}};
    case Knob::kTapsPerStep:
      return {Category::MatrixDecomposition,
              "neighbouring taps that one array step takes, of few channels each",
              {}};
    case Knob::kTileBatch:
      return {Category::MatrixDecomposition, "images in one macro tile", {}};
    case Knob::kTileCols:
      return {Category::MatrixDecomposition, "output columns in one macro tile", {}};
    case Knob::kTileK:
      return {Category::MatrixDecomposition, "input channels in one macro tile", {}};
    case Knob::kTileKernelCols:
      return {Category::MatrixDecomposition, "kernel columns in one macro tile", {}};
    case Knob::kTileKernelRows:
      return {Category::MatrixDecomposition, "kernel rows in one macro tile", {}};
    case Knob::kTileN:
      return {Category::MatrixDecomposition, "output channels in one macro tile", {}};
    case Knob::kTileRows:
      return {Category::MatrixDecomposition, "output rows in one macro tile", {}};
    case Knob::kBankPlacement:
      return {Category::Placement,
              "ends: input from the first scratchpad row up, weights at the end; copies: input in the first "
              "half, "
              "weights in the second, each alternating between two quarters from copy to copy",
              {"ends", "", "", "copies"}};
    case Knob::kAccBuffering:
      return {Category::MemoryPipeline,
              "copies of the accumulator tile: 2 lets stores overlap the next tile",
              {}};
    case Knob::kBufferingA:
      return {Category::MemoryPipeline,
              "copies of the input's tile: one, two, or each tile in a place of its own",
              {"single", "double", "resident"}};
    case Knob::kBufferingB:
      return {Category::MemoryPipeline,
              "copies of the weights' tile: one, two, or each tile in a place of its own",
              {"single", "double", "resident"}};
    case Knob::kLoadWidthA:
      return {Category::MemoryPipeline, "blocks of channels that one load of the input moves", {}};
    case Knob::kLoadWidthB:
      return {Category::MemoryPipeline, "blocks of channels that one load of weights moves", {}};
    case Knob::kStoreSchedule:
      return {Category::MemoryPipeline,
              "early: as soon as what a store moves is complete; late: after the macro tile; deferred: among "
              "the steps "
              "of the next macro tile",
              {"early", "late", "deferred"}};
    case Knob::kStoreWidth:
      return {Category::MemoryPipeline, "blocks of channels that one store moves", {}};
    case Knob::kInnerOrder:
      return {Category::LoopStructure,
              "inside a macro tile, around the pixels: taps and input channels outside of output channels, "
              "or inside",
              {"taps_outside", "channels_outside"}};
    case Knob::kLoopOrder:
      return {Category::LoopStructure,
              "the outer loop over macro tiles: output pixels or output channels; sums are the innermost",
              {"rows_outside", "columns_outside"}};
  }
  return {};
}

std::unique_ptr<wire::KnobT> wire_knob(Knob knob, const std::vector<int64_t>& values,
                                       const Problem& problem) {
  KnobInfo info = info_of(knob);
  if (knob == Knob::kDepthwise && problem.forms.size() == 1) info.labels = {"no"};
  const bool choice = !info.labels.empty();
  auto result = std::make_unique<wire::KnobT>();
  result->name = knob_name(knob);
  result->category = info.category;
  result->type = choice ? KnobType::Choice : KnobType::Integer;
  result->default_policy = choice ? DefaultPolicy::Listed : DefaultPolicy::Smallest;
  result->doc = info.doc;
  result->values = values;
  for (const int64_t value : values)
    if (choice) result->labels.push_back(info.labels[static_cast<size_t>(value)]);
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
  for (const Values& row : catalog.rows)
    surface.catalog.insert(surface.catalog.end(), row.begin(), row.end());
  surface.notes = std::move(catalog.notes);
  // The library convolves depthwise channel by channel: the last form.
  const auto form = static_cast<uint32_t>(problem.forms.size() - 1);
  if (const auto library = library_mapping(problem, form, model.machine)) {
    auto reference = std::make_unique<wire::ReferenceT>();
    reference->name = "library";
    const Values values = to_values(*library);
    reference->values.assign(values.begin(), values.end());
    reference->doc =
        "loop_conv_ws over the tiles that the vendor's tiled_conv_auto picks: the whole problem, shrunk "
        "until two "
        "tiles fit on chip";
    surface.references.push_back(std::move(reference));
  }
  return surface;
}

}  // namespace zomboss::gemmini::conv
