// The machine that is simulated: sizes, number formats and latencies, with the names of the official
// plena_settings.toml. A plain value; defaults are the settings that the official simulator ships.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "zomboss/kit/float_format.h"
#include "zomboss/sdk/status.h"

namespace zomboss::plena {

// How numbers lie in a memory: one by one, or in blocks that share an E8M0 scale.
struct NumberType {
  kit::FloatFormat element;
  uint32_t block = 0;  // elements per scale; 0: no scales

  bool scaled() const { return block != 0; }
};

// Cycles of one nanosecond (facts of the machine, table LATENCY), already picked by DC_EN.
struct Latencies {
  uint32_t systolic_overhead = 0;
  uint32_t vector_add = 1;
  uint32_t vector_mul = 1;
  uint32_t vector_exp = 1;
  uint32_t vector_reci = 2;
  uint32_t vector_max = 4;
  uint32_t vector_sum = 8;
  uint32_t scalar_fp_basic = 1;
  uint32_t scalar_fp_exp = 1;
  uint32_t scalar_fp_sqrt = 1;
  uint32_t scalar_fp_reci = 1;
  uint32_t scalar_int_basic = 1;
};

struct Settings {
  uint32_t mlen = 64;
  uint32_t vlen = 64;  // must equal mlen
  uint32_t blen = 4;
  uint32_t hlen = 16;
  uint32_t broadcast = 4;
  uint64_t max_loop_instructions = 100000;  // per trip, for each active loop
  uint64_t hbm_bytes = uint64_t{1} << 34;
  uint32_t matrix_sram_rows = 4096;     // of mlen elements; a tile has mlen rows
  uint32_t vector_sram_rows = 4194304;  // of vlen elements
  uint32_t prefetch_m_rows = 64;
  uint32_t prefetch_v_rows = 4;
  uint32_t writeback_v_rows = 4;
  kit::FloatFormat matrix_sram_type = kit::kBf16;
  kit::FloatFormat vector_sram_type = kit::kBf16;
  NumberType weight_type{kit::kE4M3, 8};      // H_PREFETCH_M, precision 0
  NumberType matrix_kv_type{kit::kE4M3, 8};   // H_PREFETCH_M, precision not 0
  NumberType activation_type{kit::kE4M3, 8};  // H_PREFETCH_V and H_STORE_V, precision 0
  NumberType vector_kv_type{kit::kE4M3, 8};   // H_PREFETCH_V and H_STORE_V, precision not 0
  Latencies latencies;

  uint32_t matrix_tiles() const { return matrix_sram_rows / mlen; }
};

// Fails with the key and both numbers when the simulator cannot take the settings: sizes that do not divide,
// memories beyond the 32-bit address of their instructions, formats it does not know.
Status validate(const Settings& settings);

using SettingValue = std::variant<int64_t, bool, std::string>;
// Settings from the flattened table TRANSACTIONAL of a settings file: "CONFIG.MLEN.value",
// "PRECISION.HBM_M_WEIGHT_TYPE.ELEM.exponent", "LATENCY.VECTOR_ADD_CYCLES.dc_lib_en". Unknown keys are
// ignored, as the official simulator does; a missing one is an error that names it (the official simulator
// falls back to other defaults altogether). The result is validated.
Result<Settings> settings_from_keys(const std::map<std::string, SettingValue>& keys);

}  // namespace zomboss::plena
