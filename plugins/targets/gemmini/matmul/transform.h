// Transformations of a schedule: each keeps what the kernel computes and changes when and how data moves.
// They work on operations' places and merge moves; `arrange` sorts at the end. None checks legality: check.h
// does, afterwards.
#pragma once

#include "plugins/targets/gemmini/matmul/schedule.h"

namespace zomboss::gemmini {

// Merges loads of neighbouring blocks of one block row, up to this many blocks.
void widen_loads(Schedule& schedule, uint32_t width_a, uint32_t width_b);

// Moves each load to the step that uses it first, minus a few steps of lead, in the order of first use; those
// of the operand that comes first, if one does, to the start of the tile.
void order_loads(Schedule& schedule, LoadOrder order);

// Moves the loads of a macro tile among the steps of the one before, where that one does not use the place
// that they overwrite. `bias_too`: loads of the bias as well.
void prefetch_next_tile(Schedule& schedule, bool bias_too);

// Merges stores of neighbouring blocks of one block row up to `width` blocks and gives them their place. A
// store that is early stands behind the last step that completes what it moves.
void schedule_stores(Schedule& schedule, StoreSchedule when, uint32_t width);

// Puts the operations in the order of their places.
void arrange(Schedule& schedule);

// All of them, as the mapping says; nothing for loop_ws, which the hardware arranges.
void apply_mapping(Schedule& schedule, const Mapping& mapping);

// About what the hardware makes of a schedule for loop_ws: wide moves, just in time. For forecasts only.
void arrange_as_hardware(Schedule& schedule, const Machine& machine);

}  // namespace zomboss::gemmini
