// The kernel check: replays the finished commands symbolically, without values, and proves from the problem
// alone that they compute the right thing. It shares no code with what builds kernels. Local rows remember
// from which DRAM bytes they were loaded, sums which bytes of input and weights met in them; what is stored
// must be the sum that belongs there.
//
// Caught: operands that are not there (never loaded, overwritten, others, zeros in place of pixels or pixels
// in place of padding), sums that miss or repeat a contribution, lack their bias or are overwritten before
// they are stored, outputs that are not covered exactly once, rows or moves out of range, another scale, and
// reads of DRAM that was written without a fence in between. Loops are expanded first. Linear in commands
// times rows.
#pragma once

#include <span>

#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/sim/command.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini::conv {

// Internal error naming the command when the kernel is wrong.
Status check_kernel(const Problem& problem, const Form& form, const Machine& machine,
                    std::span<const Command> commands);

}  // namespace zomboss::gemmini::conv
