// Shared by the tests and benchmarks of this folder: the usual configuration, and readers of reference
// vectors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/targets/gemmini/sim/command.h"
#include "plugins/targets/gemmini/sim/dram.h"
#include "plugins/targets/gemmini/sim/machine.h"

namespace zomboss::gemmini::testing {

// The default public configuration (16x16, 256 KiB scratchpad, 64 KiB accumulator), scaled to another dim:
// the same number of rows, and moves of at least four blocks.
Machine default_machine(uint32_t dim = 16);

// Whole files; "" when missing. `read_gzip` also reads files that are not compressed.
std::string read_text(const std::string& path);
std::vector<uint8_t> read_gzip(const std::string& path);

// One "funct rs1 rs2" a line, funct decimal, the others hex. Fails the running test on anything else.
std::vector<Command> parse_trace(const std::string& text);
std::vector<Command> read_trace(const std::string& path);  // plain or .gz

// Names of the sub-folders (or files), sorted; empty when `path` does not exist.
std::vector<std::string> list_folder(const std::string& path);

// The number after "key": in a JSON text, decimal or "0x..."; `fallback` when absent or null.
int64_t json_integer(const std::string& text, const std::string& key, int64_t fallback);

// One reference program of the vendor's functional model.
struct Vector {
  std::string name;
  std::string meta;
  std::vector<Command> commands;
  std::vector<Command> expanded;
  uint64_t dram_base = 0;
  std::vector<uint8_t> dram_init, dram_final, scratchpad_final, accumulator_final;
};
Vector read_vector(const std::string& folder, const std::string& name);

// A table of tab-separated values with a header line: rows by column name.
std::vector<std::map<std::string, std::string>> read_tsv(const std::string& path);

}  // namespace zomboss::gemmini::testing
