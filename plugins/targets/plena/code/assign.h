// From a tape to instruction words: which register holds which number when, and the instructions that put it
// there. Straight-line code is treated as paging: a number that an instruction needs and no register holds is
// made by one S_ADDI_INT from a register that holds a smaller one nearby (gp0 holds 0), or by S_LUI_INT, in
// the register whose number is needed again last. A rolled loop keeps its counter, one pointer for each way
// in which addresses move with it, and as many of its unchanging numbers as fit. Scalars work alike:
// constants are loaded from FP SRAM slots, variables keep their register while they live. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/targets/plena/code/tape.h"
#include "zomboss/sdk/status.h"

namespace zomboss::plena {

struct AssignOptions {
  bool hoist = true;             // unchanging numbers of a rolled loop are made before it
  bool write_immediates = true;  // a write-out uses its immediate, else its address is made in a register
  uint64_t max_loop = 100000;    // instructions that one trip of a rolled loop may execute
  uint32_t cached_numbers = 15;  // registers that hold numbers for later uses, at least 3
};

struct MachineCode {
  std::vector<uint32_t> words;
  std::vector<uint16_t> region_of;                // by word, an index into Tape::regions()
  std::vector<uint64_t> times;                    // by word: how often it runs
  std::vector<float> fp_slots;                    // the FP SRAM from slot 0
  std::array<uint64_t, kOpcodeCount> executed{};  // how often the program executes each opcode
  uint32_t loop_depth = 0;                        // of rolled loops
};

// Fails with resource_exhausted when a loop nest needs more registers than there are or constants more than
// 1024 slots, with invalid_argument when a number is negative or beyond 32 bits.
Result<MachineCode> assign_registers(const Tape& tape, const AssignOptions& options);

}  // namespace zomboss::plena
