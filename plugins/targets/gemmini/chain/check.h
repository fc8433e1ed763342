// The check of a stage whose result stays on chip: replays its commands symbolically, without values, and
// proves from the stage's problem alone that the next stage finds what it expects. It shares no code with
// what makes the commands; the stages before and behind have checks of their own.
//
// Caught: an operand that is not there, sums that miss or repeat a contribution, go on after they were
// written, or lie elsewhere than the next stage reads them, and another shift, activation or transpose than
// the stage's. Linear in commands times rows.
#pragma once

#include <optional>
#include <span>

#include "plugins/targets/gemmini/chain/link.h"
#include "plugins/targets/gemmini/chain/problem.h"
#include "plugins/targets/gemmini/sim/command.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini::chain {

// `result`: the rows where the next stage expects each block. `kept`: the operand that is on chip already, if
// any, with its blocks' rows. Internal error naming the command when the kernel is wrong.
Status check_on_chip(const gemmini::Problem& stage, const Link& link, std::span<const Command> commands,
                     const Rows& result, std::optional<Tensor> kept, const Rows& kept_rows,
                     const Machine& machine);

}  // namespace zomboss::gemmini::chain
