#include "plugins/targets/plena/sim/settings.h"

#include <fmt/format.h>

namespace zomboss::plena {
namespace {

constexpr uint64_t kAddressSpace = uint64_t{1} << 32;  // elements that a 32-bit address reaches

Status check_format(const char* key, const kit::FloatFormat& format) {
  if (format.valid() && format.bits() <= 32) return {};
  return invalid_argument(fmt::format("{}: {} exponent and {} mantissa bits are outside 1..8 and 0..23", key,
                                      format.exponent_bits, format.mantissa_bits));
}

Status check_hbm_type(const char* key, const NumberType& type, uint32_t row) {
  ZB_TRY(check_format(key, type.element));
  if (type.scaled() && row % type.block != 0) {
    return invalid_argument(
        fmt::format("{}: block {} does not divide a row of {} elements", key, type.block, row));
  }
  return {};
}

Status check_range(const char* key, uint64_t value, uint64_t low, uint64_t high) {
  if (value >= low && value <= high) return {};
  return invalid_argument(fmt::format("{} is {}, outside {}..{}", key, value, low, high));
}

// Reads keys one after the other and keeps the first problem.
class KeyReader {
 public:
  explicit KeyReader(const std::map<std::string, SettingValue>& keys) : keys_(keys) {}

  bool has(const std::string& key) const { return keys_.count(key) != 0; }
  const Status& status() const { return status_; }

  template <typename T>
  const T* find(const std::string& key, const char* kind) {
    const auto found = keys_.find(key);
    const T* value = found == keys_.end() ? nullptr : std::get_if<T>(&found->second);
    if (value == nullptr && status_.ok()) {
      status_ = invalid_argument(fmt::format("TRANSACTIONAL.{} {}; it must be {}", key,
                                             found == keys_.end() ? "is missing" : "has another type", kind));
    }
    return value;
  }

  template <typename T>
  void integer(const std::string& key, T& out, int64_t high = INT32_MAX) {
    const auto* value = find<int64_t>(key, "an integer");
    if (value == nullptr) return;
    if ((*value < 0 || *value > high) && status_.ok()) {
      status_ = invalid_argument(fmt::format("TRANSACTIONAL.{} is {}, outside 0..{}", key, *value, high));
    }
    out = static_cast<T>(*value);
  }
  template <typename T>
  void config(const char* name, T& out, int64_t high = INT32_MAX) {
    integer(fmt::format("CONFIG.{}.value", name), out, high);
  }

  // Reads {type = "Fp", sign, exponent, mantissa}.
  void format(const std::string& key, kit::FloatFormat& out) {
    const auto* type = find<std::string>(key + ".type", "\"Fp\"");
    if (type != nullptr && *type != "Fp" && status_.ok()) {
      status_ = unimplemented(
          fmt::format("TRANSACTIONAL.{}.type is '{}'; only \"Fp\" can be simulated", key, *type));
    }
    const auto* sign = find<bool>(key + ".sign", "true or false");
    if (sign != nullptr) out.has_sign = *sign;
    integer(key + ".exponent", out.exponent_bits);
    integer(key + ".mantissa", out.mantissa_bits);
  }

  void number_type(const char* name, NumberType& out) {
    const std::string key = fmt::format("PRECISION.{}", name);
    out.block = 0;
    if (has(key + ".DATA_TYPE.type")) return format(key + ".DATA_TYPE", out.element);
    integer(key + ".block", out.block);
    format(key + ".ELEM", out.element);
    kit::FloatFormat scale;
    format(key + ".SCALE", scale);
    if (status_.ok() && !(scale == kit::kE8M0)) {
      status_ = unimplemented(
          fmt::format("TRANSACTIONAL.{}.SCALE is not E8M0, the only scale of the machine", key));
    }
    if (status_.ok() && out.block == 0) {
      status_ = invalid_argument(fmt::format("TRANSACTIONAL.{}.block is 0", key));
    }
  }

 private:
  const std::map<std::string, SettingValue>& keys_;
  Status status_;
};

void read_latencies(KeyReader& reader, bool fast, Latencies& out) {
  const auto read = [&](const char* name, uint32_t& value) {
    reader.integer(fmt::format("LATENCY.{}.{}", name, fast ? "dc_lib_en" : "dc_lib_dis"), value, 1000000);
  };
  read("SYSTOLIC_PROCESSING_OVERHEAD", out.systolic_overhead);
  read("VECTOR_ADD_CYCLES", out.vector_add);
  read("VECTOR_MUL_CYCLES", out.vector_mul);
  read("VECTOR_EXP_CYCLES", out.vector_exp);
  read("VECTOR_RECI_CYCLES", out.vector_reci);
  read("VECTOR_MAX_CYCLES", out.vector_max);
  read("VECTOR_SUM_CYCLES", out.vector_sum);
  read("SCALAR_FP_BASIC_CYCLES", out.scalar_fp_basic);
  read("SCALAR_FP_EXP_CYCLES", out.scalar_fp_exp);
  read("SCALAR_FP_SQRT_CYCLES", out.scalar_fp_sqrt);
  read("SCALAR_FP_RECI_CYCLES", out.scalar_fp_reci);
  read("SCALAR_INT_BASIC_CYCLES", out.scalar_int_basic);
}

void read_sizes(KeyReader& reader, Settings& out) {
  reader.config("MAX_LOOP_INSTRUCTIONS", out.max_loop_instructions, INT64_MAX);
  reader.config("MLEN", out.mlen);
  reader.config("VLEN", out.vlen);
  reader.config("BLEN", out.blen);
  reader.config("HLEN", out.hlen);
  reader.config("BROADCAST_AMOUNT", out.broadcast);
  reader.config("HBM_SIZE", out.hbm_bytes, INT64_MAX);
  reader.config("MATRIX_SRAM_SIZE", out.matrix_sram_rows);
  reader.config("VECTOR_SRAM_SIZE", out.vector_sram_rows);
  reader.config("HBM_M_Prefetch_Amount", out.prefetch_m_rows);
  reader.config("HBM_V_Prefetch_Amount", out.prefetch_v_rows);
  reader.config("HBM_V_Writeback_Amount", out.writeback_v_rows);
}

}  // namespace

Status validate(const Settings& s) {
  ZB_TRY(check_range("MLEN", s.mlen, 1, 4096));
  if (s.vlen != s.mlen)
    return unimplemented(fmt::format("VLEN is {} and MLEN {}; they must be equal", s.vlen, s.mlen));
  ZB_TRY(check_range("BLEN", s.blen, 1, s.mlen));
  ZB_TRY(check_range("HLEN", s.hlen, 1, s.vlen));
  ZB_TRY(check_range("BROADCAST_AMOUNT", s.broadcast, 1, 64));
  if (s.mlen % s.blen != 0)
    return invalid_argument(fmt::format("BLEN {} does not divide MLEN {}", s.blen, s.mlen));
  if (s.vlen % s.hlen != 0)
    return invalid_argument(fmt::format("HLEN {} does not divide VLEN {}", s.hlen, s.vlen));
  ZB_TRY(check_range("HBM_SIZE", s.hbm_bytes, 64, uint64_t{1} << 40));
  if (s.hbm_bytes % 64 != 0)
    return invalid_argument(fmt::format("HBM_SIZE {} is not a multiple of 64", s.hbm_bytes));
  ZB_TRY(check_range("MATRIX_SRAM_SIZE", s.matrix_sram_rows, 0, (kAddressSpace >> 4) / s.mlen));
  ZB_TRY(check_range("VECTOR_SRAM_SIZE", s.vector_sram_rows, 0, kAddressSpace / s.vlen));
  ZB_TRY(check_range("HBM_M_Prefetch_Amount", s.prefetch_m_rows, 0, 1u << 16));
  ZB_TRY(check_range("HBM_V_Prefetch_Amount", s.prefetch_v_rows, 0, 1u << 16));
  ZB_TRY(check_range("HBM_V_Writeback_Amount", s.writeback_v_rows, 0, 1u << 16));
  ZB_TRY(check_format("MATRIX_SRAM_TYPE", s.matrix_sram_type));
  ZB_TRY(check_format("VECTOR_SRAM_TYPE", s.vector_sram_type));
  if (s.vector_sram_type.bits() % 8 != 0 || s.matrix_sram_type.bits() % 8 != 0) {
    return unimplemented("SRAM types must have 8, 16, 24 or 32 bits");
  }
  ZB_TRY(check_hbm_type("HBM_M_WEIGHT_TYPE", s.weight_type, s.mlen));
  ZB_TRY(check_hbm_type("HBM_M_KV_TYPE", s.matrix_kv_type, s.mlen));
  ZB_TRY(check_hbm_type("HBM_V_ACT_TYPE", s.activation_type, s.vlen));
  return check_hbm_type("HBM_V_KV_TYPE", s.vector_kv_type, s.vlen);
}

Result<Settings> settings_from_keys(const std::map<std::string, SettingValue>& keys) {
  KeyReader reader(keys);
  Settings settings;
  uint32_t fast = 0;
  reader.config("DC_EN", fast);
  read_sizes(reader, settings);
  read_latencies(reader, fast != 0, settings.latencies);
  reader.format("PRECISION.MATRIX_SRAM_TYPE.DATA_TYPE", settings.matrix_sram_type);
  reader.format("PRECISION.VECTOR_SRAM_TYPE.DATA_TYPE", settings.vector_sram_type);
  reader.number_type("HBM_M_WEIGHT_TYPE", settings.weight_type);
  reader.number_type("HBM_M_KV_TYPE", settings.matrix_kv_type);
  reader.number_type("HBM_V_ACT_TYPE", settings.activation_type);
  reader.number_type("HBM_V_KV_TYPE", settings.vector_kv_type);
  if (!reader.status().ok()) return reader.status();
  ZB_TRY(validate(settings));
  return settings;
}

}  // namespace zomboss::plena
