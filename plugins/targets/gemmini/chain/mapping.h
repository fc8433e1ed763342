// The decisions of a chain: those of each stage as a matmul, and where its result goes. A plain value; any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/chain/problem.h"
#include "plugins/targets/gemmini/matmul/mapping.h"
#include "zomboss/schema/plan_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini::chain {

// Where a stage leaves its result for the next one.
enum class Output : uint8_t { kDram = 0, kScratchpad = 1 };

struct StageMapping {
  gemmini::Mapping matmul;
  Output output = Output::kDram;
};

// Stage s (from 0) has the matmul's knobs with l1_, l2_, ... before their names, and l1_output.
std::string stage_prefix(size_t stage);
inline constexpr const char* kOutputKnob = "output";

// Invalid argument when a knob is missing, unknown, twice there or out of any domain; failed precondition
// when a result cannot stay on chip.
Result<std::vector<StageMapping>> mappings_of(const wire::PlanT& plan, const Problem& problem,
                                              const Machine& machine);

// The stage of `problem` whose result stays on chip is mapped as its kernel needs it, and so is the next one.
bool suits_link(const Problem& problem, size_t stage, const std::vector<StageMapping>& mappings);

}  // namespace zomboss::gemmini::chain
