// The schedule check: replays a finished schedule symbolically, without values, and proves from the problem
// alone that it computes the right thing. It shares no code with what builds schedules. For every output
// block it knows which blocks of A and B must have met in it, in which DRAM rows they lie, and with which
// bias; local rows remember what was loaded into them.
//
// Caught: an operand that is not there (never loaded, overwritten, or another block), sums that miss or
// repeat a contribution, are overwritten before they are stored or mix with others, outputs that are not
// covered exactly once, rows or moves out of range, loads that nothing uses, reads of DRAM that was written
// without a fence in between, and copies that miss an element. Linear in operations times rows.
#pragma once

#include "plugins/targets/gemmini/matmul/schedule.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

// Internal error naming the operation when the schedule is wrong.
Status check_schedule(const Problem& problem, const Form& form, const Machine& machine,
                      const Schedule& schedule);

}  // namespace zomboss::gemmini
