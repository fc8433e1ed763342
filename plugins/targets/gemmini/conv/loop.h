// Convolutions through loop_conv_ws: the hardware unrolls each macro tile. Pure functions; any thread.
#pragma once

#include <vector>

#include "plugins/targets/gemmini/conv/mapping.h"
#include "plugins/targets/gemmini/conv/problem.h"
#include "plugins/targets/gemmini/sim/command.h"
#include "plugins/targets/gemmini/sim/loop_command.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini::conv {

// Ok, or invalid argument: what the loop's words cannot say about this form. Independent of tiles.
Status check_loop_form(const Problem& problem, const Form& form);
// check_loop_form, and resource exhausted or invalid argument when a macro tile does not suit the loop.
Status check_loop_tiles(const Problem& problem, const Mapping& mapping, const Machine& machine);

// The stride-2 kernels of one tap of which the loop loads every second pixel only.
bool loop_downsamples(const Problem& problem);
// Taps of a kernel row that the loop takes in one array step, for tiles of so many input channels.
int64_t loop_pixels_per_row(const Problem& problem, int64_t kernel_cols, int64_t channels,
                            const Machine& machine);

struct LoopRows {
  int64_t scratchpad = 0, accumulator = 0;
};
// Local rows of a whole macro tile, as the vendor's library counts them; each may take half of its memory.
LoopRows loop_rows(const Problem& problem, const Mapping& mapping, const Machine& machine);

// `mapping` has passed check_loop_tiles.
std::vector<Command> build_loops(const Problem& problem, const Mapping& mapping, const Machine& machine);

}  // namespace zomboss::gemmini::conv
