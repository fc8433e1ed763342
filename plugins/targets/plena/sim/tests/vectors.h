// Reference programs of the official emulator, as its vectors' folders hold them, and the settings file
// reader that tests use. Helpers of the tests only; missing files throw.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plugins/targets/plena/sim/settings.h"

namespace zomboss::plena::testing {

using Bytes = std::vector<uint8_t>;

// A memory as sparse records: everything outside them is as `background` says.
struct SparseRecord {
  uint64_t offset = 0;
  Bytes bytes;
};

struct Vector {
  std::string name;
  Settings settings;
  std::string assembly;
  std::string words_text;
  Bytes hbm, fp_sram, int_sram, vector_sram;  // preloads, empty if unused
  bool has_vector_sram = false;
  bool aborts = false;
  bool traced_completely = false;
  uint64_t latency_ns = 0;
  uint64_t instructions = 0;
  uint64_t hbm_read_bytes = 0;
  uint64_t hbm_written_bytes = 0;
  std::vector<std::pair<size_t, uint64_t>> trace;  // pc and end time in ns
  std::vector<SparseRecord> hbm_final, fp_sram_final, int_sram_final, vector_sram_final, matrix_sram_final;
};

// Names of the program folders in order; empty when there is no such folder.
std::vector<std::string> list_vectors(const std::string& folder);
Vector read_vector(const std::string& folder, const std::string& name);

// The settings of a TOML file's text.
Result<Settings> read_settings(const std::string& text, const std::string& name);

}  // namespace zomboss::plena::testing
