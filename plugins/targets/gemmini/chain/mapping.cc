#include "plugins/targets/gemmini/chain/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace zomboss::gemmini::chain {
namespace {

using Decisions = std::vector<std::unique_ptr<wire::DecisionT>>;

// A decision's stage, and its name there.
struct Place {
  size_t stage = 0;
  std::string_view name;
};

Result<Place> place_of(std::string_view knob, size_t stages) {
  for (size_t s = 0; s < stages; ++s) {
    const std::string prefix = stage_prefix(s);
    if (knob.starts_with(prefix)) return Place{s, knob.substr(prefix.size())};
  }
  return invalid_argument(fmt::format(
      "gemmini: the plan decides '{}', which is no knob of this chain of {} stages", knob, stages));
}

// What a plan does not decide has its first value.
Decisions usual_decisions(uint32_t dim) {
  const std::vector<int64_t> values = to_values(gemmini::Mapping(), dim);
  Decisions result;
  for (size_t k = 0; k < kKnobs; ++k) {
    auto decision = std::make_unique<wire::DecisionT>();
    decision->knob = knob_name(static_cast<Knob>(k));
    decision->value = values[k];
    result.push_back(std::move(decision));
  }
  return result;
}

}  // namespace

std::string stage_prefix(size_t stage) {
  return fmt::format("l{}_", stage + 1);
}

bool suits_link(const Problem& problem, size_t stage, const std::vector<StageMapping>& mappings) {
  const Link& link = *problem.stages[stage].link;
  const gemmini::Mapping& first = mappings[stage].matmul;
  const gemmini::Mapping& next = mappings[stage + 1].matmul;
  const Form& form = problem.stages[stage].problem.forms[link.form];
  gemmini::Mapping wanted;
  wanted.orientation = link.form;
  wanted.dataflow = ArrayDataflow::kOutputStationary;
  wanted.tile_m = form.m.blocks();
  wanted.tile_n = form.n.blocks();
  wanted.tile_k = form.k.blocks();
  wanted.inner_order = first.inner_order;
  wanted.load_width_a = first.load_width_a;
  wanted.load_width_b = first.load_width_b;
  const bool as_a = link.operand == kA;
  return first == wanted &&
         (first.inner_order == InnerOrder::kMnk || first.inner_order == InnerOrder::kNmk) &&
         next.orientation == link.next_form && next.interface == Interface::kPrimitives &&
         next.placement == BankPlacement::kEnds &&
         (mappings[stage + 1].output == Output::kScratchpad ||
          (as_a ? next.buffering_a : next.buffering_b) == Buffering::kResident) &&
         (as_a ? next.load_width_a : next.load_width_b) == 1;
}

Result<std::vector<StageMapping>> mappings_of(const wire::PlanT& plan, const Problem& problem,
                                              const Machine& machine) {
  const size_t stages = problem.stages.size();
  std::vector<wire::PlanT> plans(stages);
  for (size_t s = 0; s < stages; ++s) {
    plans[s].sections.push_back(std::make_unique<wire::SectionT>());
    plans[s].sections[0]->decisions = usual_decisions(machine.dim);
  }
  std::vector<StageMapping> mappings(stages);
  std::vector<std::string_view> seen;
  for (const auto& section : plan.sections) {
    for (const auto& decision : section->decisions) {
      ZB_ASSIGN(const Place place, place_of(decision->knob, stages));
      if (std::find(seen.begin(), seen.end(), decision->knob) != seen.end())
        return invalid_argument(fmt::format("gemmini: the plan decides {} twice", decision->knob));
      seen.push_back(decision->knob);
      if (place.name == kOutputKnob) {
        if (decision->value != 0 && (decision->value != 1 || !problem.stages[place.stage].link))
          return invalid_argument(fmt::format("gemmini: the plan has {}={}, outside of its domain",
                                              decision->knob, decision->value));
        mappings[place.stage].output = static_cast<Output>(decision->value);
        continue;
      }
      const auto& known = plans[place.stage].sections[0]->decisions;
      const auto found = std::find_if(known.begin(), known.end(),
                                      [&](const auto& each) { return each->knob == place.name; });
      if (found == known.end())
        return invalid_argument(
            fmt::format("gemmini: the plan decides '{}', which is no knob of this target", decision->knob));
      (*found)->value = decision->value;
    }
  }
  for (size_t s = 0; s < stages; ++s) {
    auto mapping = mapping_of(plans[s], machine, problem.stages[s].problem.forms);
    if (!mapping.ok()) return mapping.status();
    mappings[s].matmul = *mapping;
  }
  for (size_t s = 0; s < stages; ++s)
    if (mappings[s].output == Output::kScratchpad && !suits_link(problem, s, mappings))
      return invalid_argument(
          fmt::format("gemmini: the plan has {}{}=scratchpad, and stages that are mapped in another way",
                      stage_prefix(s), kOutputKnob));
  return mappings;
}

}  // namespace zomboss::gemmini::chain
