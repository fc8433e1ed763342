#include "plugins/targets/gemmini/sim/machine.h"

#include <fmt/format.h>

#include <bit>

namespace zomboss::gemmini {
namespace {

// Row numbers are read from the low 26 bits of a local address by moves out.
constexpr uint32_t kMaxRows = 1u << 24;

Status check_range(const char* field, uint32_t value, uint32_t low, uint32_t high) {
  if (value >= low && value <= high) return {};
  return invalid_argument(
      fmt::format("gemmini configuration: {} is {}, must be in {}..{}", field, value, low, high));
}

Status check_memory(const char* name, uint32_t banks, uint32_t rows) {
  ZB_TRY(check_range(fmt::format("{} banks", name).c_str(), banks, 1, 64));
  ZB_TRY(check_range(fmt::format("{} rows", name).c_str(), rows, 2, kMaxRows));
  if (rows % banks != 0 || rows % 2 != 0) {
    return invalid_argument(fmt::format(
        "gemmini configuration: {} {} rows do not divide into {} banks and two halves", rows, name, banks));
  }
  return {};
}

}  // namespace

Status check_machine(const Machine& machine) {
  ZB_TRY(check_range("dim", machine.dim, 2, kMaxDim));
  if (!std::has_single_bit(machine.dim)) {
    return invalid_argument(
        fmt::format("gemmini configuration: dim is {}, must be a power of two", machine.dim));
  }
  ZB_TRY(check_memory("scratchpad", machine.scratchpad_banks, machine.scratchpad_rows));
  ZB_TRY(check_memory("accumulator", machine.accumulator_banks, machine.accumulator_rows));
  ZB_TRY(check_range("max move bytes", machine.max_move_bytes, machine.dim, 4096));
  if (machine.max_move_bytes % machine.dim != 0) {
    return invalid_argument(fmt::format("gemmini configuration: max move bytes {} is no multiple of dim {}",
                                        machine.max_move_bytes, machine.dim));
  }
  ZB_TRY(check_range("load states", machine.load_states, 1, 3));
  ZB_TRY(check_range("load entries", machine.load_entries, 1, 64));
  ZB_TRY(check_range("execute entries", machine.execute_entries, 1, 64));
  return check_range("store entries", machine.store_entries, 1, 64);
}

}  // namespace zomboss::gemmini
