// Results that go to the next stage through the scratchpad. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "plugins/targets/gemmini/chain/problem.h"
#include "plugins/targets/gemmini/matmul/schedule.h"
#include "plugins/targets/gemmini/sim/command.h"

namespace zomboss::gemmini::chain {

// Whether and how `stage` can leave its result, buffer number `result`, on chip for `next`. The array's sums
// have 20 bits, so that few elements of contraction must suffice; there is no place for an s32 bias; and the
// scale must be a power of two, since the array only shifts.
std::optional<Link> find_link(const gemmini::Problem& stage, const gemmini::Problem& next, uint32_t result,
                              const Machine& machine);

// Scratchpad rows of a tensor's blocks, by their DRAM address.
using Rows = std::map<uint64_t, uint32_t>;

// Takes the loads of `operand` out of a schedule that keeps all of it in places of its own, and returns these
// places: they are filled already when the schedule runs.
Rows keep_operand(Schedule& schedule, Tensor operand);

// Scratchpad rows that are handed out from the first to the last.
struct FreeRows {
  uint32_t next = 0, end = 0;
};

// The kernel of a stage whose result stays on chip, in the rows `result`. Operands are loaded into rows taken
// from `free`; `kept` of them, if any, is there already, in rows that are chosen here and go to `kept_rows`.
// Resource exhausted when the rows do not suffice.
Result<std::vector<Command>> lower_on_chip(const gemmini::Problem& stage, const Mapping& mapping,
                                           const Link& link, const Rows& result, FreeRows& free,
                                           std::optional<Tensor> kept, Rows& kept_rows,
                                           const Machine& machine);

// Scratchpad rows that the operands of a stage take then.
int64_t operand_rows(const Form& form);

}  // namespace zomboss::gemmini::chain
