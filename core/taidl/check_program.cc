#include <fmt/format.h>

#include <algorithm>

#include "core/taidl/check_context.h"

namespace zomboss::taidl {
namespace {

// Memories and tensor states that content can get to from `start`, along the instructions (or against them).
std::set<std::string> reachable(std::set<std::string> start, const std::vector<DataFlow>& flows,
                                bool backward) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const DataFlow& flow : flows) {
      const auto& from = backward ? flow.writes : flow.reads;
      const auto& to = backward ? flow.reads : flow.writes;
      const bool touched = std::any_of(from.begin(), from.end(),
                                       [&](const std::string& name) { return start.count(name) != 0; });
      if (!touched) continue;
      for (const std::string& name : to) changed |= start.insert(name).second;
    }
  }
  return start;
}

void check_paths(const Model& model, const std::vector<DataFlow>& flows, Diagnostics& diagnostics) {
  std::set<std::string> offchip;
  for (const Memory& memory : model.memories)
    if (memory.offchip) offchip.insert(memory.name);
  if (offchip.empty()) {
    diagnostics.error(model.where, "no memory is off-chip",
                      "inputs and outputs live in one: mark it 'offchip'");
    return;
  }
  const auto filled = reachable(offchip, flows, false), drained = reachable(offchip, flows, true);
  for (const Memory& memory : model.memories) {
    const bool in = filled.count(memory.name) != 0, out = drained.count(memory.name) != 0;
    if (in && out) continue;
    diagnostics.warning(
        memory.where,
        !in && !out ? fmt::format("memory {} is unreachable: no instruction path from or to "
                                  "an off-chip memory",
                                  memory.name)
        : !in       ? fmt::format("memory {} cannot be filled: no instruction path from an off-chip "
                                        "memory",
                                  memory.name)
                    : fmt::format("the content of memory {} cannot reach an off-chip memory", memory.name));
  }
}

void check_states(const Model& model, const std::vector<DataFlow>& flows, Diagnostics& diagnostics) {
  for (const State& state : model.states) {
    bool changed = false;
    const Location* use = nullptr;
    size_t user = 0;
    for (size_t i = 0; i < flows.size(); ++i) {
      changed |= flows[i].state_changes.count(state.name) != 0;
      if (use != nullptr || flows[i].state_uses.count(state.name) == 0) continue;
      user = i;
      const auto found = flows[i].first_use.find(state.name);
      use = found == flows[i].first_use.end() ? &state.where : &found->second;
    }
    if (state.role == StateRole::kHidden && use != nullptr && !changed)
      diagnostics.error(*use, fmt::format("{} reads hidden state '{}', which no instruction sets",
                                          model.instrs[user].name, state.name));
    if (state.role == StateRole::kConfig && !changed)
      diagnostics.warning(state.where,
                          fmt::format("no instruction sets configuration state '{}'", state.name));
    if (use == nullptr)
      diagnostics.warning(state.where, fmt::format("no instruction reads state '{}'", state.name));
  }
}

}  // namespace

void check_program(const Model& model, const std::vector<DataFlow>& flows, Diagnostics& diagnostics) {
  if (model.instrs.empty()) {
    diagnostics.error(model.where, fmt::format("target {} has no instructions", model.target));
    return;
  }
  check_paths(model, flows, diagnostics);
  check_states(model, flows, diagnostics);
  if (std::none_of(flows.begin(), flows.end(), [](const DataFlow& flow) { return flow.computes; }))
    diagnostics.error(
        model.where,
        fmt::format("target {} computes nothing: no semantics go beyond moving data", model.target),
        "at least one instruction needs a 'sem' block with arithmetic");
}

}  // namespace zomboss::taidl
