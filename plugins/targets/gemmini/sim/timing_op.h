// Internal to the cycle model: one primitive command, decoded with the configuration in force where it stands
// in the program, and what it touches.
#pragma once

#include <cstdint>

#include "plugins/targets/gemmini/sim/command.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "plugins/targets/gemmini/sim/timing.h"
#include "plugins/targets/gemmini/sim/timing_words.h"

namespace zomboss::gemmini::timing {

// Local rows [start, end); empty for none. Those of the accumulator count from kAccumulatorRows on.
inline constexpr uint32_t kAccumulatorRows = 1u << 31;
struct Rows {
  uint32_t start = 0;
  uint32_t end = 0;
  bool overlaps(const Rows& other) const { return start < other.end && other.start < end; }
};

enum class Kind : uint8_t { kConfig, kMvin, kMvout, kPreload, kCompute };

struct Op {
  Engine engine = Engine::kLoad;
  Kind kind = Kind::kConfig;
  bool from_loop = false;
  uint32_t command = 0;  // index in the program

  // Dependencies: a mvin's target, a mvout's source; preload source and result; compute A and B or D.
  Rows first, second;

  // Moves.
  uint64_t dram = 0;
  uint64_t dram_stride = 0;
  uint32_t rows = 0;
  uint32_t row_bytes = 0;  // in DRAM
  uint32_t cols = 0;
  uint32_t local = 0;  // first local row
  bool accumulator = false;
  bool wide = false;  // int32 elements in DRAM
  bool zeros = false;
  bool scaled = false;
  bool accumulate = false;
  uint32_t block_stride = 0;
  uint32_t repeats = 1;
  Pooling pooling;

  // Execution: the operands as addressed; strides and modes.
  Operand a, b;  // preload: a = source, b = result; compute: a = A, b = B or D
  bool weight_stationary = true;
  bool transpose_a = false, transpose_b = false;
  bool flip = false;
  uint32_t a_stride = 1, c_stride = 1;
};

void describe(const Op& op, Words& words);

struct Configuration {
  ConfigEx ex;
  ConfigLd load[3];
  ConfigSt store;
};

// Follows the configuration and decodes. One per simulation.
class Decoder {
 public:
  explicit Decoder(const Machine& machine) : machine_(machine) {}
  // False when the command goes to no engine (flush, counter, clock gate); `op` is then untouched.
  Result<bool> decode(const Command& command, uint32_t index, bool from_loop, Op& op);
  const Configuration& state() const { return state_; }
  void restore(const Configuration& state) { state_ = state; }
  void describe(Words& words) const;

 private:
  Status decode_config(const Command& command, Op& op);
  void decode_mvin(const Command& command, Op& op) const;
  void decode_mvout(const Command& command, Op& op) const;
  void decode_execute(const Command& command, Op& op) const;
  Rows rows_of(uint32_t address, uint64_t count) const;

  Machine machine_;
  Configuration state_;
};

}  // namespace zomboss::gemmini::timing
