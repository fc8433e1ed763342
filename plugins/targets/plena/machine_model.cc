#include "plugins/targets/plena/machine_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace zomboss::plena {
namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

class Reader {
 public:
  explicit Reader(const wire::ModelT& model) : model_(model) {}

  uint64_t param(std::string_view name, int64_t low, int64_t high) {
    for (const auto& each : model_.params) {
      if (each->name != name) continue;
      if (each->value < low || each->value > high)
        fail(fmt::format("has {} = {}, outside {}..{}", name, each->value, low, high));
      return each->value < low || each->value > high ? 0 : static_cast<uint64_t>(each->value);
    }
    fail(fmt::format("has no parameter {}", name));
    return 0;
  }
  uint32_t number(std::string_view name, int64_t low = 1, int64_t high = kMost) {
    return static_cast<uint32_t>(param(name, low, high));
  }
  uint32_t nanoseconds(std::string_view name) { return number(name, 0, 1000000); }

  // A memory of this many units; of the given unit dimensions and type.
  void memory(std::string_view name, wire::DType dtype, const std::vector<int64_t>& unit_dims,
              uint64_t rows) {
    for (const auto& each : model_.memories) {
      if (each->name != name) continue;
      if (each->dtype != dtype || each->unit_dims != unit_dims || each->rows != static_cast<int64_t>(rows)) {
        fail(fmt::format("has a memory {} that is not {} units of [{}] {}", name, rows,
                         fmt::join(unit_dims, ","), wire::EnumNameDType(dtype)));
      }
      return;
    }
    fail(fmt::format("has no memory {}", name));
  }

  uint32_t registers(std::string_view name) {
    for (const auto& each : model_.register_files) {
      if (each->name != name) continue;
      if (each->count < 1 || each->count > 16)
        fail(fmt::format("has {} registers {}, an instruction can name 1..16", each->count, name));
      return static_cast<uint32_t>(each->count);
    }
    fail(fmt::format("has no register file {}", name));
    return 0;
  }

  void require(bool holds, const std::string& why) {
    if (!holds) fail(why);
  }
  const Status& status() const { return status_; }

 private:
  void fail(const std::string& why) {
    if (status_.ok()) status_ = invalid_argument("plena: the target description " + why);
  }

  const wire::ModelT& model_;
  Status status_;
};

void read_sizes(Reader& reader, Machine& out) {
  out.mlen = reader.number("MLEN", 1, 4096);
  out.vlen = reader.number("VLEN", 1, 4096);
  out.blen = reader.number("BLEN", 1, 4096);
  out.hlen = reader.number("HLEN", 1, 4096);
  out.broadcast_amount = reader.number("BROADCAST", 1, 64);
  out.mram_tiles = reader.number("MRAM_TILES");
  out.vram_rows = reader.number("VRAM_ROWS");
  out.hbm_bytes = reader.param("HBM_BYTES", 64, int64_t{1} << 40);
  out.prefetch_m_rows = reader.number("M_PREFETCH", 1, 1 << 16);
  out.prefetch_v_rows = reader.number("V_PREFETCH", 1, 1 << 16);
  out.writeback_v_rows = reader.number("V_WRITEBACK", 1, 1 << 16);
  out.max_loop = reader.param("MAX_LOOP", 1, std::numeric_limits<int64_t>::max());
  out.fp_slots = reader.number("FP_SLOTS");
  out.int_slots = reader.number("INT_SLOTS");
  out.mx_block = reader.number("MX_BLOCK", 1, 4096);
  out.hbm_block_bytes = reader.number("HBM_BLOCK");
}

void read_latencies(Reader& reader, Latencies& out) {
  out.systolic_overhead = reader.nanoseconds("SYSTOLIC_OVERHEAD");
  out.vector_add = reader.nanoseconds("VECTOR_ADD");
  out.vector_mul = reader.nanoseconds("VECTOR_MUL");
  out.vector_exp = reader.nanoseconds("VECTOR_EXP");
  out.vector_reci = reader.nanoseconds("VECTOR_RECI");
  out.vector_max = reader.nanoseconds("VECTOR_MAX");
  out.vector_sum = reader.nanoseconds("VECTOR_SUM");
  out.scalar_fp_basic = reader.nanoseconds("SCALAR_FP");
  out.scalar_fp_exp = reader.nanoseconds("SCALAR_EXP");
  out.scalar_fp_sqrt = reader.nanoseconds("SCALAR_SQRT");
  out.scalar_fp_reci = reader.nanoseconds("SCALAR_RECI");
  out.scalar_int_basic = reader.nanoseconds("SCALAR_INT");
}

// The rules between numbers. Only after each of them was read.
void check_rules(Reader& reader, const Machine& m) {
  reader.require((m.mlen & (m.mlen - 1)) == 0, fmt::format("has MLEN = {}, not a power of two", m.mlen));
  reader.require((m.blen & (m.blen - 1)) == 0, fmt::format("has BLEN = {}, not a power of two", m.blen));
  reader.require((m.hlen & (m.hlen - 1)) == 0, fmt::format("has HLEN = {}, not a power of two", m.hlen));
  reader.require(m.vlen == m.mlen, fmt::format("has VLEN = {} and MLEN = {}, not equal", m.vlen, m.mlen));
  reader.require(m.mlen % m.blen == 0, fmt::format("has BLEN = {}, no divisor of MLEN = {}", m.blen, m.mlen));
  reader.require(m.vlen % m.hlen == 0, fmt::format("has HLEN = {}, no divisor of VLEN = {}", m.hlen, m.vlen));
  reader.require(m.mlen % m.mx_block == 0,
                 fmt::format("has MX_BLOCK = {}, no divisor of MLEN = {}", m.mx_block, m.mlen));
  reader.require(
      uint64_t{m.mram_tiles} * m.tile_elements() <= uint64_t{1} << 28,
      fmt::format("has MRAM_TILES = {} of {} elements, more than 2^28", m.mram_tiles, m.tile_elements()));
  reader.require(m.prefetch_tiles() <= m.mram_tiles,
                 fmt::format("has M_PREFETCH = {} rows, more than MRAM_TILES = {} tiles", m.prefetch_m_rows,
                             m.mram_tiles));
  reader.require(std::max({m.blen, m.prefetch_v_rows, m.writeback_v_rows}) <= m.vram_rows,
                 fmt::format("has BLEN = {}, V_PREFETCH = {} and V_WRITEBACK = {}, more than VRAM_ROWS = {}",
                             m.blen, m.prefetch_v_rows, m.writeback_v_rows, m.vram_rows));
}

// The memories are those of the parameters.
void check_memories(Reader& reader, Machine& out) {
  const auto mlen = static_cast<int64_t>(out.mlen);
  reader.memory("hbm", wire::DType::U8, {}, out.hbm_bytes);
  reader.memory("mram", wire::DType::F32, {mlen, mlen}, out.mram_tiles);
  reader.memory("vram", wire::DType::BF16, {mlen}, out.vram_rows);
  reader.memory("fpsram", wire::DType::BF16, {}, out.fp_slots);
  reader.memory("intsram", wire::DType::U32, {}, out.int_slots);
  out.gp_registers = reader.registers("gp");
  out.fp_registers = reader.registers("fp");
  out.addr_registers = reader.registers("addr");
}

}  // namespace

Result<Machine> read_machine(const wire::ModelT& model) {
  Reader reader(model);
  Machine machine;
  read_sizes(reader, machine);
  read_latencies(reader, machine.latencies);
  ZB_TRY(reader.status());
  check_rules(reader, machine);
  ZB_TRY(reader.status());
  check_memories(reader, machine);
  ZB_TRY(reader.status());
  machine.broadcast = machine.broadcast_amount * machine.hlen == machine.mlen;
  machine.broadcast_matrix =
      machine.broadcast && machine.broadcast_amount * machine.mlen <= machine.vram_rows;
  const Status simulated = validate(to_settings(machine));
  if (!simulated.ok())
    return invalid_argument("plena: the simulator refuses the machine: " + std::string(simulated.message()));
  return machine;
}

Settings to_settings(const Machine& machine) {
  Settings settings;
  settings.mlen = machine.mlen;
  settings.vlen = machine.vlen;
  settings.blen = machine.blen;
  settings.hlen = machine.hlen;
  settings.broadcast = machine.broadcast_amount;
  settings.max_loop_instructions = machine.max_loop;
  settings.hbm_bytes = machine.hbm_bytes;
  settings.matrix_sram_rows = machine.mram_tiles * machine.mlen;
  settings.vector_sram_rows = machine.vram_rows;
  settings.prefetch_m_rows = machine.prefetch_m_rows;
  settings.prefetch_v_rows = machine.prefetch_v_rows;
  settings.writeback_v_rows = machine.writeback_v_rows;
  for (NumberType* type :
       {&settings.weight_type, &settings.matrix_kv_type, &settings.activation_type, &settings.vector_kv_type})
    type->block = machine.mx_block;
  settings.latencies = machine.latencies;
  return settings;
}

Status check_formats(const Settings& settings) {
  const Settings usual;
  const auto same = [](const NumberType& a, const NumberType& b) {
    return a.element == b.element && a.block == b.block;
  };
  if (settings.matrix_sram_type == usual.matrix_sram_type &&
      settings.vector_sram_type == usual.vector_sram_type && same(settings.weight_type, usual.weight_type) &&
      same(settings.matrix_kv_type, usual.matrix_kv_type) &&
      same(settings.activation_type, usual.activation_type) &&
      same(settings.vector_kv_type, usual.vector_kv_type))
    return {};
  return unimplemented(
      "plena: the settings file has other number formats than bf16 in the SRAMs and E4M3 blocks of 8 in the "
      "HBM; the "
      "simulator runs them, but kernels are made for these only");
}

}  // namespace zomboss::plena
