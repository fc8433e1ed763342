#include "plugins/targets/gemmini/residual/surface.h"

#include <fmt/format.h>

#include <memory>
#include <set>
#include <utility>

namespace zomboss::gemmini::residual {
namespace {

using wire::Category;
using wire::ConstraintKind;
using wire::DefaultPolicy;
using wire::KnobType;

struct KnobInfo {
  Category category = Category::Algorithm;
  const char* doc = "";
  std::vector<const char*> labels;  // by value; none of an integer
};

KnobInfo info_of(Knob knob) {
  switch (knob) {
    case Knob::kInterface:
      return {Category::Algorithm,
              "who unrolls a macro tile into moves: the kernel, or the hardware's loop_ws",
              {"primitives", "loop_ws"}};
    case Knob::kRowLength:
      return {
          Category::MatrixDecomposition,
          "elements of one row, of the matrix that the tensors are taken for: of their last dimension, or as "
          "many as one move takes",
          {}};
    case Knob::kTileCols:
      return {Category::MatrixDecomposition, "columns in one macro tile", {}};
    case Knob::kTileRows:
      return {Category::MatrixDecomposition, "rows in one macro tile", {}};
    case Knob::kBankPlacement:
      return {
          Category::Placement,
          "where copies of the tile lie in the accumulator: one behind the other, or each in an equal part",
          {"together", "apart"}};
    case Knob::kAccBuffering:
      return {Category::MemoryPipeline,
              "copies of the accumulator tile: more let stores overlap later tiles",
              {}};
    case Knob::kLoadOrder:
      return {Category::MemoryPipeline,
              "each load of A followed by that of B, or all of A first",
              {"interleaved", "a_first"}};
    case Knob::kLoadWidth:
      return {Category::MemoryPipeline, "blocks that one load moves", {}};
    case Knob::kStoreSchedule:
      return {Category::MemoryPipeline,
              "early: a store as soon as what it moves is complete; late: after the macro tile; deferred: "
              "among the "
              "loads of the next macro tile",
              {"early", "late", "deferred"}};
    case Knob::kStoreWidth:
      return {Category::MemoryPipeline, "blocks that one store moves", {}};
    case Knob::kOrdering:
      return {Category::ExecutionPipeline,
              "what makes B come after A in the accumulator: the order of issue, which does when memory "
              "answers in "
              "order, or a fence between them",
              {"issue", "fence"}};
  }
  return {};
}

std::unique_ptr<wire::KnobT> wire_knob(Knob knob, const std::vector<int64_t>& values) {
  const KnobInfo info = info_of(knob);
  auto result = std::make_unique<wire::KnobT>();
  result->name = knob_name(knob);
  result->category = info.category;
  result->type = info.labels.empty() ? KnobType::Integer : KnobType::Choice;
  result->default_policy =
      info.labels.empty() && knob != Knob::kRowLength ? DefaultPolicy::Smallest : DefaultPolicy::Listed;
  result->doc = info.doc;
  result->values = values;
  for (const int64_t value : values)
    if (!info.labels.empty()) result->labels.emplace_back(info.labels[static_cast<size_t>(value)]);
  return result;
}

class Rules {
 public:
  Rules(const Problem& problem, const Machine& machine, wire::SurfaceT& surface)
      : problem_(problem), machine_(machine), surface_(surface) {}

  void add_all() {
    const int64_t dim = machine_.dim, row_bytes = 4 * dim;
    const auto accumulator = std::to_string(machine_.accumulator_rows * row_bytes);
    add("accumulator_capacity", ConstraintKind::Capacity,
        fmt::format("(<= (* 4 acc_buffering tile_rows tile_cols) {})", accumulator),
        "accumulator needs {needs:bytes}, has {available:bytes}: {acc_buffering} tiles of {tile_rows} x "
        "{tile_cols} x 4 bytes");
    with_sides("(* 4 acc_buffering tile_rows tile_cols)", accumulator);
    add("tile_cut", ConstraintKind::Shape, cuts(),
        "tile_rows={tile_rows} x tile_cols={tile_cols} is no balanced cut of rows of {row_length}");
    for (const char* knob : {"load_width", "store_width"})
      add(knob, ConstraintKind::Shape,
          fmt::format("(or (= {0} 1) (< (* (div {0} 2) {1}) tile_cols))", knob, dim),
          fmt::format("{0}={{{0}}} blocks is wider than the tile, {{tile_cols}} columns; take a narrower one",
                      knob));
    add("apart_copies", ConstraintKind::Dependency, "(=> (= bank_placement 1) (> acc_buffering 1))",
        "bank_placement=apart places copies of the tile: it needs acc_buffering of 2 or 4");
    add("deferred_store", ConstraintKind::Dependency,
        "(=> (= store_schedule 2) (and (> acc_buffering 1) (= ordering 0)))",
        "store_schedule=deferred keeps a finished tile while the next one is loaded: it needs acc_buffering "
        "of 2 or "
        "4, and with ordering=fence stores come between the fences anyway");
    add("fenced_order", ConstraintKind::Dependency, "(=> (= ordering 1) (= load_order 1))",
        "ordering=fence has a fence behind all of A: it goes with load_order=a_first");
    add("loop_choices", ConstraintKind::Dependency,
        "(=> (= interface 1) (and (= acc_buffering 2) (= bank_placement 0) (= load_order 0) (= load_width 1) "
        "(= "
        "store_schedule 0) (= store_width 1) (= ordering 0)))",
        "with interface=loop_ws the hardware places, orders and widens moves itself: it goes with "
        "acc_buffering=2 and "
        "the first value of all else but the tile");
    const auto half = std::to_string(machine_.loop_accumulator_rows() * row_bytes);
    add("loop_accumulator", ConstraintKind::Capacity,
        fmt::format("(=> (= interface 1) (<= (* 4 tile_rows tile_cols) {}))", half),
        "one loop_ws run needs {needs:bytes} of accumulator, half of it has {available:bytes}");
    with_sides("(* 4 tile_rows tile_cols)", half);
  }

 private:
  std::string cuts() const {
    std::string term = "(and true";
    for (uint32_t s = 0; s < problem_.shapes.size(); ++s) {
      const Cuts sizes = cuts_of(problem_, s, machine_);
      const auto one_of = [&](const char* knob, const std::vector<int64_t>& values) {
        std::string result = "(or false";
        for (const int64_t blocks : values) result += fmt::format(" (= {} {})", knob, blocks * machine_.dim);
        return result + ")";
      };
      term += fmt::format(" (=> (= row_length {}) (and {} {}))", problem_.shapes[s].columns,
                          one_of("tile_rows", sizes.rows), one_of("tile_cols", sizes.cols));
    }
    return term + ")";
  }

  void add(std::string name, ConstraintKind kind, std::string assertion, std::string message) {
    auto rule = std::make_unique<wire::ConstraintT>();
    rule->name = std::move(name);
    rule->kind = kind;
    rule->assertion = std::move(assertion);
    rule->message = std::move(message);
    surface_.constraints.push_back(std::move(rule));
  }
  void with_sides(std::string needs, std::string available) {
    surface_.constraints.back()->needs = std::move(needs);
    surface_.constraints.back()->available = std::move(available);
  }

  const Problem& problem_;
  const Machine& machine_;
  wire::SurfaceT& surface_;
};

}  // namespace

Domains knob_domains(const Problem& problem, const Machine& machine) {
  std::set<int64_t> rows, cols;
  std::vector<int64_t> lengths, widths;
  for (uint32_t s = 0; s < problem.shapes.size(); ++s) {
    lengths.push_back(problem.shapes[s].columns);
    const Cuts cuts = cuts_of(problem, s, machine);
    for (const int64_t blocks : cuts.rows) rows.insert(blocks * machine.dim);
    for (const int64_t blocks : cuts.cols) cols.insert(blocks * machine.dim);
  }
  const auto widest = static_cast<int64_t>(machine.max_block_columns() / machine.dim);
  for (int64_t width = 1; width <= widest && (width == 1 || (width / 2) * machine.dim < *cols.rbegin());
       width *= 2)
    widths.push_back(width);
  std::vector<int64_t> copies;
  for (const int64_t count : {1, 2, 4})
    if (count * machine.dim <= machine.accumulator_rows) copies.push_back(count);
  return {{{0, 1},
           lengths,
           {cols.begin(), cols.end()},
           {rows.begin(), rows.end()},
           {0, 1},
           copies,
           {0, 1},
           widths,
           {0, 1, 2},
           widths,
           {0, 1}}};
}

wire::SurfaceT bare_surface(const Problem& problem, const Machine& machine, const Domains& domains) {
  wire::SurfaceT surface;
  surface.target = "gemmini";
  surface.workload = problem.workload;
  surface.kind = wire::SurfaceKind::Conditional;
  for (size_t k = 0; k < kKnobs; ++k) surface.knobs.push_back(wire_knob(static_cast<Knob>(k), domains[k]));
  Rules(problem, machine, surface).add_all();
  auto reference = std::make_unique<wire::ReferenceT>();
  reference->name = "library";
  const Values values = to_values(library_mapping(problem, machine), problem, machine.dim);
  reference->values.assign(values.begin(), values.end());
  reference->doc =
      "the vendor's tiled_resadd_auto: loop_ws over tiles that shrink along their longer side until half of "
      "the "
      "accumulator holds one";
  surface.references.push_back(std::move(reference));
  return surface;
}

wire::SurfaceT make_surface(const Problem& problem, const MachineModel& model) {
  const Domains domains = knob_domains(problem, model.machine);
  wire::SurfaceT surface = bare_surface(problem, model.machine, domains);
  surface.kind = wire::SurfaceKind::Catalog;
  Catalog catalog = make_catalog(problem, model, domains);
  for (const Mapping& row : catalog.rows) {
    const Values values = to_values(row, problem, model.machine.dim);
    surface.catalog.insert(surface.catalog.end(), values.begin(), values.end());
  }
  surface.notes = std::move(catalog.notes);
  return surface;
}

}  // namespace zomboss::gemmini::residual
