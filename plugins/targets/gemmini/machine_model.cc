#include "plugins/targets/gemmini/machine_model.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>

namespace zomboss::gemmini {
namespace {

class Reader {
 public:
  explicit Reader(const wire::ModelT& model) : model_(model) {}

  uint32_t param(std::string_view name) {
    for (const auto& each : model_.params)
      if (each->name == name) return number(name, each->value);
    fail(fmt::format("has no parameter {}", name));
    return 0;
  }

  // A memory of rows of `dim` elements of this type.
  void memory(std::string_view name, wire::DType dtype, uint32_t dim, uint32_t& rows, uint32_t& banks) {
    for (const auto& each : model_.memories) {
      if (each->name != name) continue;
      if (each->dtype != dtype || each->unit_dims.size() != 1 || each->unit_dims[0] != dim)
        fail(fmt::format("has a memory {} that is not rows of {} {}", name, dim, wire::EnumNameDType(dtype)));
      rows = number(name, each->rows);
      banks = number(name, each->banks);
      return;
    }
    fail(fmt::format("has no memory {}", name));
  }

  const Status& status() const { return status_; }

 private:
  uint32_t number(std::string_view name, int64_t value) {
    if (value >= 0 && value <= std::numeric_limits<int32_t>::max()) return static_cast<uint32_t>(value);
    fail(fmt::format("has {} = {}, out of range", name, value));
    return 0;
  }
  void fail(const std::string& why) {
    if (status_.ok()) status_ = invalid_argument("gemmini: the target description " + why);
  }

  const wire::ModelT& model_;
  Status status_;
};

}  // namespace

Result<MachineModel> read_machine(const wire::ModelT& model) {
  Reader reader(model);
  MachineModel result;
  Machine& machine = result.machine;
  machine.dim = reader.param("DIM");
  reader.memory("spad", wire::DType::S8, machine.dim, machine.scratchpad_rows, machine.scratchpad_banks);
  reader.memory("acc", wire::DType::S32, machine.dim, machine.accumulator_rows, machine.accumulator_banks);
  machine.max_move_bytes = reader.param("MAX_BYTES");
  machine.load_states = reader.param("LOAD_STATES");
  machine.load_entries = reader.param("LD_ENTRIES");
  machine.execute_entries = reader.param("EX_ENTRIES");
  machine.store_entries = reader.param("ST_ENTRIES");
  const uint32_t latency = reader.param("MEM_LATENCY");
  result.memory = {reader.param("BUS_BYTES"), reader.param("INFLIGHT"), latency, {latency}, 0};
  ZB_TRY(reader.status());
  ZB_TRY(check_machine(machine));
  if (machine.execute_entries < 2)
    return invalid_argument("gemmini: EX_ENTRIES must be at least 2: a preload waits for its computation");
  if (machine.max_move_bytes < 4 * machine.dim)
    return invalid_argument(fmt::format("gemmini: MAX_BYTES={} is less than one accumulator row of {} bytes",
                                        machine.max_move_bytes, 4 * machine.dim));
  if (result.memory.bus_bytes == 0 || result.memory.in_flight == 0)
    return invalid_argument("gemmini: BUS_BYTES and INFLIGHT must be positive");
  return result;
}

}  // namespace zomboss::gemmini
