// Bit-exact functional simulator of the RoCC command stream: what every command does to DRAM, scratchpad and
// accumulator, without time. It follows the vendor's functional model; `strict` refuses programs on which
// that model and the hardware differ.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/sim/command.h"
#include "plugins/targets/gemmini/sim/dram.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "plugins/targets/gemmini/sim/mesh.h"
#include "plugins/targets/gemmini/sim/norm.h"
#include "plugins/targets/gemmini/sim/strict.h"
#include "plugins/targets/gemmini/sim/unroll.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

struct FunctionalOptions {
  bool strict = false;
};

struct FunctionalCounts {
  uint64_t commands = 0;            // as given
  uint64_t primitive_commands = 0;  // after expansion of loops
  uint64_t macs = 0;                // multiply-accumulates inside the operands' bounds
  uint64_t dram_read_bytes = 0;
  uint64_t dram_written_bytes = 0;
};

// Owns the on-chip state, borrows the DRAM. One thread. After a failure the state is that after the last
// complete row that was written; run no further commands on it.
class FunctionalSimulator {
 public:
  // Fails when check_machine does.
  static Result<FunctionalSimulator> create(const Machine& machine, Dram& dram,
                                            FunctionalOptions options = {});

  // Any command has a defined effect or fails; the message names the command's index and text, and for memory
  // the address or row. Stops at the first failure.
  Status run(std::span<const Command> commands);

  // Row-major, dim elements a row.
  std::span<const int8_t> scratchpad() const { return scratchpad_; }
  std::span<const int32_t> accumulator() const { return accumulator_; }
  const FunctionalCounts& counts() const { return counts_; }

 private:
  struct LoadState {
    ConfigLd config;
    uint64_t repeats() const { return config.pixel_repeats == 0 ? 1 : config.pixel_repeats; }
  };

  FunctionalSimulator(const Machine& machine, Dram& dram, FunctionalOptions options);

  Status execute(const Command& command);  // a primitive one
  Status configure(const Command& command);
  Status configure_execute(const Command& command);
  Status configure_norm(const Command& command);

  // functional_moves.cc
  Status move_in(const Command& command);
  void load_scratchpad_row(const LoadState& state, const int8_t* values, uint64_t row, uint32_t cols);
  void load_accumulator_row(const int32_t* values, uint64_t row, const LoadState& state, uint32_t cols,
                            bool add);
  Status move_out(const Command& command);
  bool move_out_whole(Operand source, uint64_t dram);
  Status move_out_row(Operand source, uint64_t row, uint64_t dram);
  Status move_out_pooled(Operand source, uint64_t dram);
  Status pooled_pixel(Operand source, uint32_t out_row, uint32_t out_col, int8_t* values) const;
  void read_as_int8(uint32_t address, uint64_t row, uint32_t cols, int8_t* values) const;
  bool fold_statistics(Operand source, uint64_t row);
  Result<uint8_t*> dram_bytes(uint64_t address, uint64_t size);
  bool move_in_whole(const LoadState& state, Operand target, uint64_t dram);

  // functional_compute.cc
  Status compute_step(const Command& command, bool flip);
  Status compute_weight_stationary(Operand a, Operand d, bool flip);
  Status compute_output_stationary(Operand a, Operand b, bool flip);
  Status load_tile_operand(const char* name, Operand operand, uint32_t stride, bool transposed,
                           int8_t* tile) const;
  Result<const int8_t*> a_operand(Operand a, size_t* row_stride);
  Status load_weights();
  void multiply_by_sums(const int8_t* a, size_t a_stride, uint32_t rows);
  Status write_result(const int32_t* results);
  Status check_rows(const char* name, uint32_t address, uint64_t count, uint64_t stride) const;
  Status check_partial_sums() const;

  uint32_t dim() const { return machine_.dim; }

  Machine machine_;
  Dram* dram_;
  FunctionalOptions options_;
  Unroller unroller_;
  CommonGround common_ground_;
  FunctionalCounts counts_;

  std::vector<int8_t> scratchpad_;
  std::vector<int32_t> accumulator_;
  ConfigEx ex_;
  LoadState load_[3];
  ConfigSt store_;
  Normaliser normaliser_;
  Operand stationary_;  // of the last preload
  Operand result_;

  // What the array holds, dim x dim. One set of registers serves both dataflows, so a computation that
  // continues after a change of dataflow takes the other one's contents.
  bool holds_sums_ = false;
  std::vector<int8_t> weights_;        // weight stationary
  MeshWeights packed_;                 // the same, as mesh_multiply reads them
  std::vector<int32_t> partial_sums_;  // output stationary
  MeshWeights packed_moving_;          // dim x dim scratch, B of output stationary
  std::vector<int8_t> tile_;           // dim x dim scratch
  std::vector<int32_t> results_;       // dim x dim scratch
  std::vector<int32_t> row32_;         // one move row scratch
  std::vector<int8_t> row8_;
};

}  // namespace zomboss::gemmini
