#include "plugins/targets/gemmini/chain/surface.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugins/targets/gemmini/chain/catalog.h"
#include "plugins/targets/gemmini/chain/link.h"
#include "plugins/targets/gemmini/chain/mapping.h"
#include "plugins/targets/gemmini/chain/rename.h"
#include "plugins/targets/gemmini/matmul/surface.h"

namespace zomboss::gemmini::chain {
namespace {

class SurfaceMaker {
 public:
  SurfaceMaker(const Problem& problem, const MachineModel& model) : problem_(problem), model_(model) {}

  wire::SurfaceT run(bool with_catalog) {
    surface_.target = "gemmini";
    surface_.workload = problem_.workload;
    surface_.kind = wire::SurfaceKind::Conditional;
    for (size_t s = 0; s < problem_.stages.size(); ++s) add_stage(s);
    for (size_t s = 0; s < problem_.stages.size(); ++s) {
      if (problem_.stages[s].link) add_link_rules(s);
    }
    if (library_ != nullptr) surface_.references.push_back(std::move(library_));
    if (with_catalog) add_catalog();
    return std::move(surface_);
  }

 private:
  void add_catalog() {
    surface_.kind = wire::SurfaceKind::Catalog;
    Catalog catalog = make_catalog(problem_, model_, domains_);
    for (const auto& row : catalog.rows) {
      for (size_t s = 0; s < row.size(); ++s) {
        const std::vector<int64_t> values = to_values(row[s].matmul, model_.machine.dim);
        for (size_t k = 0; k < values.size(); ++k)
          if (published_[s][k]) surface_.catalog.push_back(values[k]);
        if (problem_.stages[s].link) surface_.catalog.push_back(static_cast<int64_t>(row[s].output));
      }
    }
    surface_.notes = std::move(catalog.notes);
  }

  void add_stage(size_t s) {
    const gemmini::Problem& stage = problem_.stages[s].problem;
    domains_.push_back(knob_domains(stage, model_.machine));
    wire::SurfaceT bare = gemmini::bare_surface(stage, model_, domains_.back());
    const std::string prefix = stage_prefix(s);
    Names& names = names_.emplace_back();
    std::vector<bool>& published = published_.emplace_back();
    for (size_t k = 0; k < bare.knobs.size(); ++k) {
      wire::KnobT& knob = *bare.knobs[k];
      published.push_back(knob.values.size() > 1);
      names[knob.name] = published[k] ? prefix + knob.name : std::to_string(knob.values.front());
      if (!published[k]) continue;
      knob.name = prefix + knob.name;
      knob.doc = fmt::format("stage {}: {}", s + 1, knob.doc);
      surface_.knobs.push_back(std::move(bare.knobs[k]));
    }
    for (auto& rule : bare.constraints) {
      rule->name = prefix + rule->name;
      rule->assertion = renamed_term(rule->assertion, names);
      rule->needs = renamed_term(rule->needs, names);
      rule->available = renamed_term(rule->available, names);
      rule->message = fmt::format("stage {}: {}", s + 1, renamed_message(rule->message, names));
      if (rule->name == prefix + "scratchpad_capacity") scratchpad_.push_back(rule->needs);
      surface_.constraints.push_back(std::move(rule));
    }
    if (problem_.stages[s].link) add_output_knob(prefix, s);
    add_reference(s, bare, published);
  }

  void add_output_knob(const std::string& prefix, size_t s) {
    auto knob = std::make_unique<wire::KnobT>();
    knob->name = prefix + kOutputKnob;
    knob->category = wire::Category::Placement;
    knob->type = wire::KnobType::Choice;
    knob->values = {0, 1};
    knob->labels = {"dram", "scratchpad"};
    knob->doc = fmt::format(
        "where stage {} leaves its result for the next one: in DRAM, or in the scratchpad, shifted and "
        "saturated by the array",
        s + 1);
    surface_.knobs.push_back(std::move(knob));
  }

  // The library calls its matmul once for each stage. No reference when it has none for one of them.
  void add_reference(size_t s, const wire::SurfaceT& bare, const std::vector<bool>& published) {
    if (bare.references.empty() || (s > 0 && library_ == nullptr)) {
      library_ = nullptr;
      return;
    }
    if (s == 0) {
      library_ = std::make_unique<wire::ReferenceT>();
      library_->name = "library";
      library_->doc =
          "the vendor's tiled_matmul_auto for each stage: its tile sizes, loop_ws, a fence behind each call, "
          "intermediates in DRAM";
    }
    for (size_t k = 0; k < published.size(); ++k)
      if (published[k]) library_->values.push_back(bare.references[0]->values[k]);
    if (problem_.stages[s].link) library_->values.push_back(0);
  }

  std::string term(size_t stage, const std::string& text) const { return renamed_term(text, names_[stage]); }

  void add_link_rules(size_t s) {
    const Link& link = *problem_.stages[s].link;
    const Form& form = problem_.stages[s].problem.forms[link.form];
    const std::string on_chip = fmt::format("(= {}{} 1)", stage_prefix(s), kOutputKnob);
    const int64_t dim = model_.machine.dim;
    add(stage_prefix(s) + "on_chip",
        fmt::format(
            "(=> {} {})", on_chip,
            term(
                s,
                fmt::format(
                    "(and (= dataflow 1) (= interface 0) (= orientation {}) (= batch_regions "
                    "1) (= tile_k {}) (= tile_m {}) (= tile_n {}) (= bank_placement 0) (= "
                    "acc_buffering 1) (= buffering_a 0) (= buffering_b 0) (= load_order 0) (= store_schedule "
                    "0) (= store_width 1) (= fence 0) (>= inner_order 2) (= loop_order 0))",
                    link.form, form.k.blocks() * dim, form.m.blocks() * dim, form.n.blocks() * dim))),
        fmt::format(
            "{0}output=scratchpad takes the whole of stage {1} in one macro tile, sums in the array and "
            "stores nothing: it goes with {0}dataflow=output_stationary, {0}interface=primitives, the "
            "largest tiles, {0}inner_order mnk or nmk, and the first value of all else but the widths of "
            "loads",
            stage_prefix(s), s + 1));
    const char* which = link.operand == kA ? "a" : "b";
    const std::string place = term(s + 1, fmt::format("(= buffering_{} 2)", which));
    const std::string resident = problem_.stages[s + 1].link ? fmt::format("(or {} (= {}{} 1))", place,
                                                                           stage_prefix(s + 1), kOutputKnob)
                                                             : place;
    add(stage_prefix(s + 1) + "from_chip",
        fmt::format("(=> {} (and {} {}))", on_chip, resident,
                    term(s + 1, fmt::format("(= orientation {}) (= interface 0) (= bank_placement 0) (= "
                                            "load_width_{} 1)",
                                            link.next_form, which))),
        fmt::format("{0}output=scratchpad leaves the operand where stage {2} finds it: it goes with "
                    "{1}buffering_{3}=resident, {1}interface=primitives, {1}bank_placement=ends and "
                    "{1}load_width_{3}=1",
                    stage_prefix(s), stage_prefix(s + 1), s + 2, which));
    add_shared_capacity(s);
  }

  // The reader's tiles, and the operands of all stages before it whose results stay on chip on their way to
  // it.
  void add_shared_capacity(size_t s) {
    const int64_t dim = model_.machine.dim;
    std::string before = "0";
    for (size_t first = 0; first <= s; ++first) {
      if (!problem_.stages[first].link) {
        before = "0";
        continue;
      }
      const Form& form = problem_.stages[first].problem.forms[problem_.stages[first].link->form];
      before = fmt::format("(ite (= {}{} 1) (+ {} {}) 0)", stage_prefix(first), kOutputKnob,
                           operand_rows(form) * dim, before);
    }
    const std::string needs = fmt::format("(+ {} {})", scratchpad_[s + 1], before);
    const int64_t available = int64_t{model_.machine.scratchpad_rows} * dim;
    add(stage_prefix(s + 1) + "shared_capacity",
        fmt::format("(=> (= {}{} 1) (<= {} {}))", stage_prefix(s), kOutputKnob, needs, available),
        fmt::format(
            "stages up to {} share the scratchpad and need {{needs:bytes}}, it has {{available:bytes}}",
            s + 2),
        wire::ConstraintKind::Capacity);
    surface_.constraints.back()->needs = needs;
    surface_.constraints.back()->available = std::to_string(available);
  }

  void add(std::string name, std::string assertion, std::string message,
           wire::ConstraintKind kind = wire::ConstraintKind::Dependency) {
    auto rule = std::make_unique<wire::ConstraintT>();
    rule->name = std::move(name);
    rule->kind = kind;
    rule->assertion = std::move(assertion);
    rule->message = std::move(message);
    surface_.constraints.push_back(std::move(rule));
  }

  const Problem& problem_;
  const MachineModel& model_;
  wire::SurfaceT surface_;
  std::vector<Names> names_;  // by stage, as all that follow
  std::vector<Domains> domains_;
  std::vector<std::vector<bool>> published_;  // by knob of the matmul
  std::vector<std::string> scratchpad_;       // bytes of its tiles
  std::unique_ptr<wire::ReferenceT> library_;
};

}  // namespace

wire::SurfaceT bare_surface(const Problem& problem, const MachineModel& model) {
  return SurfaceMaker(problem, model).run(false);
}

wire::SurfaceT make_surface(const Problem& problem, const MachineModel& model) {
  return SurfaceMaker(problem, model).run(true);
}

}  // namespace zomboss::gemmini::chain
