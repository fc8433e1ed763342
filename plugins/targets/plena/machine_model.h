// The machine from the host's checked TAIDL model: the only source of machine numbers. Plain values; any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "plugins/targets/plena/sim/settings.h"
#include "zomboss/schema/model_generated.h"
#include "zomboss/sdk/status.h"

namespace zomboss::plena {

// The parameters of plena.taidl. Sizes in elements unless their name says otherwise.
struct Machine {
  uint32_t mlen = 0;              // rows and columns of a matrix tile; a power of two
  uint32_t vlen = 0;              // elements of a vector row; equal to mlen
  uint32_t blen = 0;              // rows and columns of the array's results; divides mlen
  uint32_t hlen = 0;              // elements of a head; divides vlen
  uint32_t broadcast_amount = 0;  // heads that a broadcast form processes
  bool broadcast = false;         // hlen * broadcast_amount == mlen: M_BTMV exists
  bool broadcast_matrix = false;  // and vector memory holds a result of M_BMM or M_BTMM, so they exist too
  uint32_t mram_tiles = 0;        // mlen x mlen each
  uint32_t vram_rows = 0;         // vlen each
  uint64_t hbm_bytes = 0;
  uint32_t prefetch_m_rows = 0;  // as written in the parameters; see prefetch_tiles
  uint32_t prefetch_v_rows = 0;
  uint32_t writeback_v_rows = 0;
  uint64_t max_loop = 0;  // instructions of one trip
  uint32_t fp_slots = 0, int_slots = 0;
  uint32_t mx_block = 0;  // elements in HBM that share a scale; divides mlen
  uint32_t hbm_block_bytes = 0;
  uint32_t gp_registers = 0, fp_registers = 0, addr_registers = 0;
  Latencies latencies;  // nanoseconds

  uint32_t tile_elements() const { return mlen * mlen; }
  uint32_t prefetch_tiles() const { return (prefetch_m_rows + mlen - 1) / mlen; }  // of one H_PREFETCH_M
  uint32_t row_scale_bytes() const { return mlen / mx_block; }  // in HBM, of a tile or vector row
};

// Invalid argument when the model lacks a parameter, memory or register file, or describes a machine that
// cannot be simulated.
Result<Machine> read_machine(const wire::ModelT& model);

// What the simulator needs to know; valid for every machine that read_machine returns.
Settings to_settings(const Machine& machine);

// Values of the plugin option `profile`; the first is the default.
inline constexpr std::array<std::string_view, 2> kProfiles = {"upstream", "kernelcraft"};

// plena.taidl as it was built in, with this profile in force. Invalid argument, with the names that exist,
// for another one.
Result<std::string> taidl_text(std::string_view profile);

// The same with the numbers of a settings file in force, as a profile of that name ("settings").
Result<std::string> taidl_text(const Settings& settings);

// Unimplemented for number formats that kernels are not made for: bf16 on chip and E4M3 blocks of 8 in the
// HBM are.
Status check_formats(const Settings& settings);

}  // namespace zomboss::plena
