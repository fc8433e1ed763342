#include "plugins/targets/plena/sim/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <new>

#include "plugins/targets/plena/sim/assembler.h"
#include "zomboss/kit/bf16.h"

namespace zomboss::plena {
namespace {

uint32_t little_endian(std::span<const uint8_t> bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t n = 0; n < count; ++n) value |= uint32_t{bytes[at + n]} << (8 * n);
  return value;
}

void append(std::vector<uint8_t>& out, uint32_t value, size_t count) {
  for (size_t n = 0; n < count; ++n) out.push_back(static_cast<uint8_t>(value >> (8 * n)));
}

// The element table of a type, empty when elements have more than 8 bits.
std::vector<float> element_table(const kit::FloatFormat& format) {
  std::vector<float> table;
  if (format.bits() > 8) return table;
  for (uint32_t code = 0; code < 1u << format.bits(); ++code)
    table.push_back(kit::decode_float(code, format));
  return table;
}

}  // namespace

Simulator::Simulator(const Settings& settings)
    : settings_(settings),
      vectors_(settings.vector_sram_rows, settings.vlen, settings.vector_sram_type),
      tiles_(size_t{settings.matrix_tiles()} * settings.mlen * settings.mlen),
      matrix_sum_(size_t{settings.blen} * settings.blen),
      vector_sum_(settings.blen),
      head_matrix_sum_(size_t{settings.broadcast} * settings.mlen * settings.mlen),
      head_vector_sum_(size_t{settings.broadcast} * settings.mlen),
      hbm_(settings.hbm_bytes),
      gathered_(size_t{settings.mlen} * settings.mlen),
      transposed_(size_t{settings.mlen} * settings.mlen) {
  for (auto* row : {&row_a_, &row_b_, &row_out_}) row->resize(settings.vlen);
  row_pointers_.resize(settings.mlen);
  codes_.resize(settings.vlen);
  const NumberType* types[] = {&settings.weight_type, &settings.matrix_kv_type, &settings.activation_type,
                               &settings.vector_kv_type};
  for (size_t n = 0; n < decoders_.size(); ++n) decoders_[n] = {*types[n], element_table(types[n]->element)};
}

Result<Simulator> Simulator::create(const Settings& settings) {
  ZB_TRY(validate(settings));
  try {
    return Simulator(settings);
  } catch (const std::bad_alloc&) {
    return resource_exhausted(
        fmt::format("no memory for a vector SRAM of {} rows and a matrix SRAM of {} rows of {} elements; "
                    "lower VECTOR_SRAM_SIZE or MATRIX_SRAM_SIZE",
                    settings.vector_sram_rows, settings.matrix_sram_rows, settings.mlen));
  }
}

Status Simulator::load_hbm(std::span<const uint8_t> image, uint64_t address) {
  const uint64_t capacity = settings_.hbm_bytes;
  if (address > capacity || image.size() > capacity - address) {
    return invalid_argument(fmt::format("an HBM image of {} bytes at address {} does not fit into {} bytes",
                                        image.size(), address, capacity));
  }
  hbm_.bytes().write(address, image);
  return {};
}

Status Simulator::load_fp_sram(std::span<const uint8_t> halves) {
  const size_t count = halves.size() / 2;
  if (count > kScalarSramWords) {
    return invalid_argument(
        fmt::format("an FP SRAM image of {} numbers; the memory holds {}", count, kScalarSramWords));
  }
  for (size_t n = 0; n < count; ++n) {
    const float value = kit::half_to_float(static_cast<uint16_t>(little_endian(halves, 2 * n, 2)));
    fp_sram_[n] = kit::bf16_to_float(kit::bf16_round(value));
  }
  return {};
}

Status Simulator::load_int_sram(std::span<const uint8_t> words) {
  const size_t count = words.size() / 4;
  if (count > kScalarSramWords) {
    return invalid_argument(
        fmt::format("an INT SRAM image of {} words; the memory holds {}", count, kScalarSramWords));
  }
  for (size_t n = 0; n < count; ++n) int_sram_[n] = little_endian(words, 4 * n, 4);
  return {};
}

std::vector<uint8_t> Simulator::dump_matrix_sram() const {
  std::vector<uint8_t> out;
  const auto bytes = static_cast<size_t>(settings_.matrix_sram_type.bits()) / 8;
  out.reserve(tiles_.size() * bytes);
  for (size_t n = 0; n < tiles_.size(); ++n)
    append(out, kit::encode_float(tiles_[n], settings_.matrix_sram_type), bytes);
  return out;
}

std::vector<uint8_t> Simulator::dump_fp_sram() const {
  std::vector<uint8_t> out;
  for (const float value : fp_sram_) append(out, std::bit_cast<uint32_t>(value) >> 16, 2);
  return out;
}

std::vector<uint8_t> Simulator::dump_int_sram() const {
  std::vector<uint8_t> out;
  for (const uint32_t value : int_sram_) append(out, value, 4);
  return out;
}

uint32_t instruction_cost(Opcode opcode, const Settings& settings) {
  const Latencies& latency = settings.latencies;
  switch (opcode) {
    case Opcode::kMMm:
    case Opcode::kMTmm:
    case Opcode::kMBmm:
    case Opcode::kMBtmm:
      return latency.systolic_overhead + settings.mlen;
    case Opcode::kMBtmv:
      return latency.systolic_overhead + 1;
    case Opcode::kMMv:
    case Opcode::kMTmv:
      return settings.mlen;
    case Opcode::kVAddVv:
    case Opcode::kVAddVf:
    case Opcode::kVSubVv:
    case Opcode::kVSubVf:
      return latency.vector_add;
    case Opcode::kVMulVv:
    case Opcode::kVMulVf:
    case Opcode::kVShftV:
      return latency.vector_mul;
    case Opcode::kVExpV:
      return latency.vector_exp;
    case Opcode::kVReciV:
      return latency.vector_reci;
    case Opcode::kVMaxVf:
    case Opcode::kVMinVf:
    case Opcode::kVRedMax:
      return latency.vector_max;
    case Opcode::kVRedSum:
      return latency.vector_sum;
    case Opcode::kVTopk:
      return latency.vector_max * 32;
    case Opcode::kSAddFp:
    case Opcode::kSSubFp:
    case Opcode::kSMaxFp:
    case Opcode::kSMulFp:
      return latency.scalar_fp_basic;
    case Opcode::kSExpFp:
      return latency.scalar_fp_exp;
    case Opcode::kSReciFp:
      return latency.scalar_fp_reci;
    case Opcode::kSSqrtFp:
      return latency.scalar_fp_sqrt;
    case Opcode::kSMapVFp:
      return 2 * settings.vlen;
    case Opcode::kSAddInt:
    case Opcode::kSAddiInt:
    case Opcode::kSSubInt:
    case Opcode::kSMulInt:
    case Opcode::kSLuiInt:
    case Opcode::kSLdInt:
    case Opcode::kSStInt:
      return latency.scalar_int_basic;
    case Opcode::kHPrefetchM:
    case Opcode::kHPrefetchV:
    case Opcode::kHStoreV:
      return 0;
    default:
      return 1;
  }
}

uint32_t Simulator::cost_of(Opcode opcode, const Fields& fields) const {
  // A result for f0 is not computed.
  const bool reduces = opcode == Opcode::kVRedSum || opcode == Opcode::kVRedMax;
  const bool computes = opcode >= Opcode::kSAddFp && opcode <= Opcode::kSSqrtFp;
  if ((reduces || computes) && fields.rd == 0) return 0;
  const uint32_t cost = instruction_cost(opcode, settings_);
  return opcode == Opcode::kVTopk && fields.rs3 != 0 ? 4 * cost : cost;  // 128 experts instead of 32
}

Status Simulator::decode(std::span<const uint32_t> words) {
  code_.clear();
  code_.reserve(words.size());
  for (size_t pc = 0; pc < words.size(); ++pc) {
    const Fields fields = split_fields(words[pc]);
    const InstructionInfo& info = instruction_info(fields.opcode);
    const Opcode opcode = info.opcode;
    if ((opcode == Opcode::kMBmm || opcode == Opcode::kMBtmm) && fields.rd != 0) {
      pc_ = pc;
      failure_ = fmt::format("rd is {} and must be 0; refused before the program starts", fields.rd);
      return abort_status(words);
    }
    const bool wide = opcode == Opcode::kSLuiInt || opcode == Opcode::kCLoopStart;
    code_.push_back({opcode, fields.rd, fields.rs1, fields.rs2, fields.rs3, fields.function,
                     wide ? fields.imm22 : fields.imm18, cost_of(opcode, fields)});
  }
  return {};
}

Status Simulator::abort_status(std::span<const uint32_t> words) const {
  return {failure_code_, fmt::format("pc {} ({}): {}", pc_, disassemble(words[pc_]), failure_)};
}

Status Simulator::run(std::span<const uint32_t> words, TraceSink* trace) {
  count_by_pc_.assign(words.size(), 0);
  transfer_ns_by_pc_.assign(words.size(), 0);
  ZB_TRY(decode(words));
  update_stop();
  const bool finished = trace != nullptr ? execute<true>(trace) : execute<false>(nullptr);
  return finished ? Status() : abort_status(words);
}

bool Simulator::fail(std::string reason) {
  failure_ = std::move(reason);
  return false;
}

bool Simulator::vector_row(uint32_t address, uint32_t& row) {
  row = address / settings_.vlen;
  if (row * settings_.vlen != address) {
    return fail(fmt::format("vector SRAM address {} is not a multiple of VLEN, {}", address, settings_.vlen));
  }
  if (row >= vectors_.rows()) {
    return fail(
        fmt::format("vector SRAM address {} is row {}; there are {} rows", address, row, vectors_.rows()));
  }
  return true;
}

bool Simulator::matrix_tile(uint32_t address, uint32_t& tile) {
  const uint32_t elements = settings_.mlen * settings_.mlen;
  tile = address / elements;
  if (tile * elements != address) {
    return fail(
        fmt::format("matrix SRAM address {} is not a multiple of a tile, {} elements", address, elements));
  }
  if (tile >= settings_.matrix_tiles()) {
    return fail(fmt::format("matrix SRAM address {} is tile {}; there are {} tiles", address, tile,
                            settings_.matrix_tiles()));
  }
  return true;
}

bool Simulator::fp_register(uint8_t index) {
  return index < fp_.size() || fail(fmt::format("there is no FP register f{}; f0 to f7 exist", index));
}

bool Simulator::scalar_index(uint32_t index, const char* memory) {
  return index < kScalarSramWords ||
         fail(fmt::format("{} SRAM index {} is outside 0..{}", memory, index, kScalarSramWords - 1));
}

Profile Simulator::profile() const {
  Profile out;
  out.nanoseconds = now_;
  out.instructions = executed_;
  out.count_by_pc = count_by_pc_;
  out.nanoseconds_by_pc = transfer_ns_by_pc_;
  out.engine_by_pc.assign(count_by_pc_.size(), Engine::kControl);
  for (size_t pc = 0; pc < code_.size(); ++pc) {
    out.nanoseconds_by_pc[pc] += count_by_pc_[pc] * code_[pc].cost;
    const auto opcode = static_cast<size_t>(code_[pc].opcode);
    out.count_by_opcode[opcode] += count_by_pc_[pc];
    out.nanoseconds_by_opcode[opcode] += out.nanoseconds_by_pc[pc];
    const Engine engine = instruction_info(static_cast<uint32_t>(opcode)).engine;
    out.engine_by_pc[pc] = engine;
    out.nanoseconds_by_engine[static_cast<size_t>(engine)] += out.nanoseconds_by_pc[pc];
  }
  hbm_.report(out);
  out.vector_rows_used = vectors_.rows_used();
  out.matrix_tiles_used = tiles_used_;
  return out;
}

}  // namespace zomboss::plena
