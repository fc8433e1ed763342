#include "plugins/targets/gemmini/chain/lower.h"

#include <optional>

#include "plugins/targets/gemmini/chain/check.h"
#include "plugins/targets/gemmini/chain/link.h"
#include "plugins/targets/gemmini/matmul/check.h"
#include "plugins/targets/gemmini/matmul/codegen.h"
#include "plugins/targets/gemmini/matmul/lower.h"
#include "plugins/targets/gemmini/matmul/schedule.h"
#include "plugins/targets/gemmini/matmul/transform.h"

namespace zomboss::gemmini::chain {
namespace {

// Stages from the last to the first: where a stage leaves its result is what the next one chose.
class Lowering {
 public:
  Lowering(const Problem& problem, const std::vector<StageMapping>& mappings, const Machine& machine)
      : problem_(problem), mappings_(mappings), machine_(machine), parts_(mappings.size()) {}

  Result<std::vector<Command>> run() {
    for (size_t s = mappings_.size(); s-- > 0;) {
      if (mappings_[s].output == Output::kScratchpad) {
        const gemmini::Problem& stage = problem_.stages[s].problem;
        const Link& link = *problem_.stages[s].link;
        Rows kept;
        ZB_ASSIGN(parts_[s], lower_on_chip(stage, mappings_[s].matmul, link, rows_, free_, kept_operand(s),
                                           kept, machine_));
        ZB_TRY(check_on_chip(stage, link, parts_[s], rows_, kept_operand(s), kept, machine_));
        rows_ = std::move(kept);
      } else if (kept_operand(s)) {
        ZB_TRY(lower_reader(s));
      } else {
        ZB_ASSIGN(parts_[s], lower_mapping(problem_.stages[s].problem, mappings_[s].matmul, machine_));
      }
    }
    std::vector<Command> commands;
    for (size_t s = 0; s < parts_.size(); ++s) {
      commands.insert(commands.end(), parts_[s].begin(), parts_[s].end());
      if (s + 1 < parts_.size() && mappings_[s].output == Output::kDram) commands.push_back(fence());
    }
    return commands;
  }

 private:
  std::optional<Tensor> kept_operand(size_t s) const {
    if (s == 0 || mappings_[s - 1].output == Output::kDram) return std::nullopt;
    return problem_.stages[s - 1].link->operand;
  }

  // A matmul like any other, but for the loads of what is there already.
  Status lower_reader(size_t s) {
    const gemmini::Problem& stage = problem_.stages[s].problem;
    const gemmini::Mapping& mapping = mappings_[s].matmul;
    const Form& form = stage.forms[mapping.orientation];
    ZB_TRY(check_capacity(mapping, form, machine_));
    Schedule schedule = build_primitive(stage, form, mapping, machine_);
    apply_mapping(schedule, mapping);
    ZB_TRY(check_schedule(stage, form, machine_, schedule));
    rows_ = keep_operand(schedule, *kept_operand(s));
    const Footprint needs = footprint(mapping, form);
    const int64_t a_rows = needs.a_slots * mapping.tile_m * mapping.tile_k * machine_.dim;
    free_.next = static_cast<uint32_t>(a_rows);
    free_.end = static_cast<uint32_t>(machine_.scratchpad_rows - (needs.scratchpad_rows - a_rows));
    parts_[s] = generate_code(schedule);
    return {};
  }

  const Problem& problem_;
  const std::vector<StageMapping>& mappings_;
  const Machine& machine_;
  std::vector<std::vector<Command>> parts_;
  Rows rows_;      // where the stage that was lowered last expects its operand
  FreeRows free_;  // that the stages behind do not use
};

}  // namespace

Result<std::vector<Command>> lower_mappings(const Problem& problem, const std::vector<StageMapping>& mappings,
                                            const Machine& machine) {
  return Lowering(problem, mappings, machine).run();
}

}  // namespace zomboss::gemmini::chain
