#include "host/cli/incumbent.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace zomboss::cli {
namespace {

constexpr size_t kSpans = 400;  // of one engine: more than a picture can show

Json occupancy_json(const mapping::Surface& surface, const mapping::Plan& plan) {
  Json list = Json::array();
  const auto values = mapping::plan_values(surface, plan);
  if (!values.ok()) return list;
  mapping::TermScratch scratch;
  for (const mapping::Constraint& constraint : surface.constraints()) {
    if (constraint.kind != mapping::ConstraintKind::Capacity || !constraint.needs || !constraint.available)
      continue;
    const auto needs = mapping::evaluate(*constraint.needs, *values, scratch);
    const auto available = mapping::evaluate(*constraint.available, *values, scratch);
    if (!needs || !available) continue;
    const bool bytes = constraint.message_text.find("{needs:bytes}") != std::string::npos;
    list.push_back({{"name", constraint.name},
                    {"rule", constraint.message_text},
                    {"needs", *needs},
                    {"available", *available},
                    {"unit", bytes ? "bytes" : ""}});
  }
  return list;
}

// What the simulator counted of an on-chip memory: a counter MEMORY.UNITS beside the rows of the description.
void add_counted(const wire::ModelT& model, const evaluate::Evaluation& evaluation, Json& list) {
  for (const auto& memory : model.memories) {
    if (memory->offchip || memory->rows <= 0) continue;
    for (const auto& counter : evaluation.simulation.counters) {
      if (!counter->name.starts_with(memory->name + ".") ||
          counter->value > static_cast<double>(memory->rows))
        continue;
      list.push_back({{"name", memory->name},
                      {"rule", counter->name + ", counted by the simulator"},
                      {"needs", counter->value},
                      {"available", memory->rows},
                      {"unit", counter->unit}});
    }
  }
}

struct Span {
  uint64_t start = 0, end = 0;
  std::string label;
};

// At most kSpans: the shortest gaps between neighbours are closed.
std::vector<Span> merged(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  if (spans.size() <= kSpans) return spans;
  std::vector<uint64_t> gaps;
  for (size_t i = 1; i < spans.size(); ++i)
    gaps.push_back(spans[i].start > spans[i - 1].end ? spans[i].start - spans[i - 1].end : 0);
  std::vector<uint64_t> sorted = gaps;
  std::nth_element(sorted.begin(), sorted.end() - static_cast<ptrdiff_t>(kSpans - 1), sorted.end());
  const uint64_t limit = sorted[sorted.size() - (kSpans - 1)];
  std::vector<Span> result = {spans[0]};
  for (size_t i = 1; i < spans.size(); ++i) {
    if (gaps[i - 1] <= limit) {
      result.back().end = std::max(result.back().end, spans[i].end);
      if (result.back().label != spans[i].label) result.back().label = "several";
    } else {
      result.push_back(spans[i]);
    }
  }
  return result;
}

Json timeline_json(const evaluate::Evaluation& evaluation) {
  std::map<std::string, std::vector<Span>> engines;
  for (const auto& span : evaluation.simulation.timeline)
    engines[span->engine].push_back({span->start, span->end, span->label});
  Json list = Json::array();
  for (auto& [name, spans] : engines) {
    uint64_t busy = 0;
    for (const Span& span : spans) busy += span.end - span.start;
    Json json = Json::array();
    for (const Span& span : merged(std::move(spans))) json.push_back({span.start, span.end, span.label});
    list.push_back({{"name", name}, {"busy", busy}, {"spans", json}});
  }
  return {{"unit", evaluation.unit}, {"end", evaluation.latency}, {"engines", list}};
}

// The loops that the tiles of a plan make, outermost first: those over macro tiles in the order that the plan
// says (m, n, k when it says none), and inside them the other decisions about loops.
Json loop_nest_json(const mapping::Plan& plan) {
  Json lines = Json::array();
  const mapping::Decision* order = plan.find("loop_order");
  std::string letters = "mnk";
  if (order != nullptr && order->text.size() == 3 &&
      order->text.find_first_not_of("mnk") == std::string::npos)
    letters = order->text;
  int depth = 0;
  for (const char letter : letters) {
    const std::string knob = std::string("tile_") + letter;
    const mapping::Decision* tile = plan.find(knob);
    if (tile == nullptr) continue;
    lines.push_back({{"depth", depth++},
                     {"text", fmt::format("for {0} in steps of {1}", letter, tile->text)},
                     {"note", knob}});
  }
  for (const auto category : {mapping::Category::LoopStructure, mapping::Category::MatrixDecomposition,
                              mapping::Category::VectorDecomposition}) {
    for (const mapping::Decision& decision : plan.sections[static_cast<size_t>(category)]) {
      if (decision.knob == "loop_order" || decision.knob.starts_with("tile_")) continue;
      lines.push_back({{"depth", depth},
                       {"text", fmt::format("{} = {}", decision.knob, decision.text)},
                       {"note", mapping::category_name(category)}});
    }
  }
  return lines;
}

}  // namespace

Json incumbent_json(const Workbench& bench, const search::Candidate& best, const std::string& reproduce) {
  Json occupancy = occupancy_json(*bench.problem().surface, best.plan);
  add_counted(bench.target().model(), best.evaluation, occupancy);
  return {{"plan", to_json(best.plan)},
          {"occupancy", occupancy},
          {"timeline", timeline_json(best.evaluation)},
          {"counters", counters_json(best.evaluation.simulation.counters)},
          {"loop_nest", loop_nest_json(best.plan)},
          {"simulator", best.evaluation.simulation.simulator},
          {"reproduce", reproduce}};
}

}  // namespace zomboss::cli
