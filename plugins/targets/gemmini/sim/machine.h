// The configuration of one Gemmini instance, as numbers. Nothing here has a default: the caller fills the
// fields from the target's checked TAIDL model, so that no second copy of a machine number exists.
#pragma once

#include <cstdint>

#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

inline constexpr uint32_t kMaxDim = 128;

// Elements are int8 and accumulators int32; everything else is free. A plain value.
struct Machine {
  uint32_t dim = 0;                // the array has dim x dim multipliers; one local row holds dim elements
  uint32_t scratchpad_banks = 0;   // of dim-byte rows
  uint32_t scratchpad_rows = 0;    // all banks together
  uint32_t accumulator_banks = 0;  // of 4*dim-byte rows
  uint32_t accumulator_rows = 0;   // all banks together
  uint32_t max_move_bytes = 0;     // of one DRAM row in one move
  uint32_t load_states = 0;        // independent config_ld states, at most 3 (mvin, mvin2, mvin3)
  uint32_t load_entries = 0;       // of the reservation station, for each class
  uint32_t execute_entries = 0;
  uint32_t store_entries = 0;

  uint32_t scratchpad_bank_rows() const { return scratchpad_rows / scratchpad_banks; }
  uint32_t accumulator_bank_rows() const { return accumulator_rows / accumulator_banks; }
  uint32_t max_block_columns() const { return max_move_bytes; }  // int8 elements of one move
  // What one of the two loops in flight may use.
  uint32_t loop_scratchpad_rows() const { return scratchpad_rows / 2; }
  uint32_t loop_accumulator_rows() const { return accumulator_rows / 2; }
};

// Ok, or which field cannot be simulated and why: dim is a power of two in 2..kMaxDim, rows divide into
// banks, capacities keep row numbers within the address word, entries are in 1..64.
Status check_machine(const Machine& machine);

}  // namespace zomboss::gemmini
