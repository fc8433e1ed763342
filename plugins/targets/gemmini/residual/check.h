// The check of a finished kernel: replays its commands symbolically, without values, and proves from the
// problem alone that it computes the right thing. It shares no code with what makes the commands.
//
// Caught: a sum that lacks an operand, has one twice or elements that do not belong together, sums that are
// gone before they were stored, elements of the result that are stored twice or never, moves out of range,
// another scale or activation than the problem's, and with `fenced` an addition without a fence behind the
// load that it adds to. Linear in elements.
#pragma once

#include <span>

#include "plugins/targets/gemmini/residual/problem.h"
#include "plugins/targets/gemmini/sim/command.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini::residual {

// Internal error naming the command when the kernel is wrong.
Status check_kernel(const Problem& problem, const Machine& machine, std::span<const Command> commands,
                    bool fenced);

}  // namespace zomboss::gemmini::residual
