// The common ground of the vendor's functional model and the hardware. Programs outside of it (the two were
// measured to differ, or the hardware has no defined behaviour) are refused, naming the rule. Our own kernels
// stay inside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/sim/command.h"
#include "plugins/targets/gemmini/sim/loop_command.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

// Follows a program command by command with its own copy of the configuration. Independent of the data, so
// one rule is missing here: the 20-bit limit of output-stationary sums, which the functional simulator checks
// itself. One thread; linear in commands times rows.
class CommonGround {
 public:
  explicit CommonGround(const Machine& machine);

  // Call first for every command of the program as given, then `check` for every primitive command that it
  // means. Both fail with failed precondition, "strict: ..."; the state is then of no further use.
  Status check_loop(const Command& command);
  Status check(const Command& command);

 private:
  Status check_config(const Command& command);
  Status check_mvin(const Command& command);
  Status check_mvout(const Command& command);
  Status check_compute(const Command& command, bool flip);
  Status check_output_stationary(bool flip);
  Status check_shared_adder(uint32_t move_bank, uint32_t result_bank);
  Status check_run(const LoopWs& loop);

  // Rows that primitive commands wrote; all others are undefined or placed by a loop, which the hardware does
  // at other rows than the functional model.
  Status read_rows(const char* what, uint32_t address, uint64_t count, uint64_t stride);
  void write_rows(uint32_t address, uint64_t count, uint64_t stride);

  Machine machine_;
  bool in_loop_ = false;
  LoopWs loop_;
  uint8_t last_a_id_ = 0, last_b_id_ = 0;  // forced halves of the last run since a fence; 0 = none

  bool ex_configured_ = false, store_configured_ = false;
  bool load_configured_[3] = {};
  ConfigEx ex_;
  ConfigLd load_[3];
  ConfigSt store_;
  Operand stationary_, result_;
  bool preloaded_ = false;
  bool flipped_ = false;  // since the last change of dataflow
  uint32_t last_compute_rows_ = 0;
  bool sums_written_ = false;  // output stationary: the array's sums went to a real C
  uint64_t moved_banks_ = 0;   // accumulator banks added to since the last fence, by moves
  uint64_t result_banks_ = 0;  // and by results
  std::vector<bool> scratchpad_written_, accumulator_written_;
};

}  // namespace zomboss::gemmini
