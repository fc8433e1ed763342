// What a run counted: time, instruction mix, engines, HBM traffic by tensor, high-water marks of the
// memories. Plain values filled by Simulator.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/targets/plena/sim/isa.h"

namespace zomboss::plena {

// Bytes [begin, end) of the HBM that belong to one tensor, and its traffic in whole 64-byte blocks. A block
// counts for the range that holds its first byte.
struct TensorTraffic {
  std::string name;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t read_bytes = 0;
  uint64_t written_bytes = 0;
};

struct Profile {
  uint64_t nanoseconds = 0;
  uint64_t instructions = 0;
  std::array<uint64_t, kOpcodeCount> count_by_opcode{};
  std::array<uint64_t, kOpcodeCount> nanoseconds_by_opcode{};
  std::array<uint64_t, kEngineCount> nanoseconds_by_engine{};
  std::vector<Engine> engine_by_pc;         // as long as the program
  std::vector<uint64_t> count_by_pc;        // as long as the program
  std::vector<uint64_t> nanoseconds_by_pc;  // as long as the program
  uint64_t hbm_read_bytes = 0;
  uint64_t hbm_written_bytes = 0;
  std::vector<TensorTraffic> tensors;  // as given to Simulator::watch_tensors()
  uint64_t other_read_bytes = 0;       // outside all of them
  uint64_t other_written_bytes = 0;
  uint32_t vector_rows_used = 0;   // one more than the highest row written or preloaded
  uint32_t matrix_tiles_used = 0;  // one more than the highest tile written
};

// Count and time of the instructions at pc [begin, end), for profiles by region of the program.
struct RegionTotal {
  uint64_t instructions = 0;
  uint64_t nanoseconds = 0;
  std::array<uint64_t, kEngineCount> nanoseconds_by_engine{};
};
// A range that ends past the program ends with it.
RegionTotal region_total(const Profile& profile, size_t begin, size_t end);

}  // namespace zomboss::plena
