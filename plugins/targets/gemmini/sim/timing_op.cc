#include "plugins/targets/gemmini/sim/timing_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace zomboss::gemmini::timing {
namespace {

uint32_t blocks_of(uint32_t cols, uint32_t dim) {
  return cols == 0 ? 1 : (cols + dim - 1) / dim;
}

}  // namespace

Result<bool> Decoder::decode(const Command& command, uint32_t index, bool from_loop, Op& op) {
  switch (static_cast<Funct>(command.funct)) {
    case Funct::kFlush:
    case Funct::kClockGate:
    case Funct::kCounter:
      return false;
    default:
      break;
  }
  op = Op{};
  op.from_loop = from_loop;
  op.command = index;
  switch (static_cast<Funct>(command.funct)) {
    case Funct::kConfig:
      ZB_TRY(decode_config(command, op));
      return true;
    case Funct::kMvin:
    case Funct::kMvin2:
    case Funct::kMvin3:
      decode_mvin(command, op);
      break;
    case Funct::kMvout:
      decode_mvout(command, op);
      break;
    case Funct::kPreload:
    case Funct::kComputeFlip:
    case Funct::kComputeStay:
      decode_execute(command, op);
      return true;
    default:
      return invalid_argument(fmt::format("funct {} is no Gemmini command", command.funct));
  }
  if (op.rows > machine_.dim || op.cols > machine_.max_block_columns()) {
    return invalid_argument(fmt::format("a move of {}x{} elements, the largest is {}x{}", op.rows, op.cols,
                                        machine_.dim, machine_.max_block_columns()));
  }
  return true;
}

Status Decoder::decode_config(const Command& command, Op& op) {
  op.kind = Kind::kConfig;
  switch (config_kind(command)) {
    case ConfigKind::kExecute: {
      op.engine = Engine::kExecute;
      const ConfigEx config = decode_config_ex(command);
      if (config.strides_only) {
        state_.ex.a_stride = config.a_stride;
        state_.ex.c_stride = config.c_stride;
      } else {
        state_.ex = config;
      }
      op.weight_stationary = state_.ex.dataflow == Dataflow::kWeightStationary;
      return {};
    }
    case ConfigKind::kLoad: {
      op.engine = Engine::kLoad;
      const ConfigLd config = decode_config_ld(command);
      if (config.state >= machine_.load_states) {
        return invalid_argument(fmt::format("load state {} does not exist, the machine has {}", config.state,
                                            machine_.load_states));
      }
      state_.load[config.state] = config;
      return {};
    }
    case ConfigKind::kStore:
      state_.store = decode_config_st(command);
      break;
    case ConfigKind::kNorm:
      break;
  }
  op.engine = Engine::kStore;
  return {};
}

Rows Decoder::rows_of(uint32_t address, uint64_t count) const {
  if (address == kGarbage || count == 0) return {};
  const bool accumulator = is_accumulator(address);
  const uint64_t capacity = accumulator ? machine_.accumulator_rows : machine_.scratchpad_rows;
  const uint64_t start = target_row(address);
  const uint32_t base = accumulator ? kAccumulatorRows : 0;
  const auto clip = [&](uint64_t row) { return base + static_cast<uint32_t>(std::min(row, capacity)); };
  return {clip(start), clip(start + count)};
}

void Decoder::decode_mvin(const Command& command, Op& op) const {
  const ConfigLd& config = state_.load[load_state_of(command.funct)];
  const Operand target = decode_operand(command.rs2);
  op.engine = Engine::kLoad;
  op.kind = Kind::kMvin;
  op.dram = command.rs1;
  op.dram_stride = config.dram_stride_bytes;
  op.rows = target.rows;
  op.cols = target.cols;
  op.accumulator = is_accumulator(target.address);
  op.accumulate = op.accumulator && (target.address & kAccumulateBit) != 0;
  op.wide = op.accumulator && !config.shrink;
  op.row_bytes = target.cols * (op.wide ? 4u : 1u);
  op.local = target_row(target.address);
  op.zeros = command.rs1 == 0;
  op.scaled = !op.wide && config.scale != 1.0f;
  op.block_stride = config.block_stride;
  op.repeats = op.accumulator ? 1 : std::max<uint32_t>(config.pixel_repeats, 1);
  const uint64_t block_rows = uint64_t{blocks_of(op.cols, machine_.dim) - 1} * op.block_stride;
  op.first = rows_of(target.address & ~kFullRowBit, block_rows + op.rows);
}

void Decoder::decode_mvout(const Command& command, Op& op) const {
  const Operand source = decode_operand(command.rs2);
  op.engine = Engine::kStore;
  op.kind = Kind::kMvout;
  op.dram = command.rs1;
  op.dram_stride = state_.store.dram_stride_bytes;
  op.rows = source.rows;
  op.cols = source.cols;
  op.accumulator = is_accumulator(source.address);
  op.wide = op.accumulator && (source.address & kFullRowBit) != 0;
  op.row_bytes = source.cols * (op.wide ? 4u : 1u);
  op.local = mvout_row(source.address);
  op.pooling = state_.store.pooling;
  const uint32_t address = (source.address & kAccumulatorBit) | op.local;
  if (op.pooling.stride != 0) {
    // The station assumes that a pooled move reads to the end of its bank.
    op.rows = 0;
    const uint32_t bank = op.accumulator ? machine_.accumulator_bank_rows() : machine_.scratchpad_bank_rows();
    op.first = rows_of(address, bank - op.local % bank);
  } else {
    op.first = rows_of(address, uint64_t{blocks_of(op.cols, machine_.dim) - 1} * machine_.dim + op.rows);
  }
}

void Decoder::decode_execute(const Command& command, Op& op) const {
  op.engine = Engine::kExecute;
  op.a = decode_operand(command.rs1);
  op.b = decode_operand(command.rs2);
  op.weight_stationary = state_.ex.dataflow == Dataflow::kWeightStationary;
  op.transpose_a = state_.ex.transpose_a;
  op.transpose_b = state_.ex.transpose_b;
  op.a_stride = state_.ex.a_stride;
  op.c_stride = state_.ex.c_stride;
  const auto clip = [this](uint32_t count) { return std::min(count, machine_.dim); };
  if (command.funct == static_cast<uint32_t>(Funct::kPreload)) {
    op.kind = Kind::kPreload;
    const bool transposed = op.weight_stationary && op.transpose_b;
    op.first = rows_of(op.a.address, clip(transposed ? op.a.cols : op.a.rows));
    op.second = rows_of(op.b.address, uint64_t{clip(op.b.rows)} * op.c_stride);
  } else {
    op.kind = Kind::kCompute;
    op.flip = command.funct == static_cast<uint32_t>(Funct::kComputeFlip);
    const bool transposed = !op.weight_stationary && op.transpose_b;
    op.first = rows_of(op.a.address, uint64_t{clip(op.transpose_a ? op.a.cols : op.a.rows)} * op.a_stride);
    op.second = rows_of(op.b.address, clip(transposed ? op.b.cols : op.b.rows));
  }
}

namespace {

uint64_t word_of(const Operand& operand) {
  return encode_operand(operand);
}
uint64_t word_of(const Rows& rows) {
  return uint64_t{rows.end} << 32 | rows.start;
}
uint64_t pack(std::initializer_list<uint64_t> fields, int bits) {
  uint64_t word = 0;
  for (const uint64_t field : fields) word = word << bits | field;
  return word;
}
uint64_t word_of(const Pooling& p) {
  return pack({p.stride, p.size, p.upper_pad, p.left_pad, p.out_dim, p.pooled_rows, p.pooled_cols}, 8);
}

}  // namespace

void describe(const Op& op, Words& words) {
  words.add(pack({static_cast<uint64_t>(op.engine), static_cast<uint64_t>(op.kind), op.from_loop,
                  op.accumulator, op.wide, op.zeros, op.scaled, op.accumulate, op.weight_stationary,
                  op.transpose_a, op.transpose_b, op.flip},
                 4));
  words.origin(op.command);
  if (op.kind == Kind::kConfig) return;
  words.add(word_of(op.first));
  words.add(word_of(op.second));
  if (op.engine == Engine::kExecute) {
    words.add(word_of(op.a));
    words.add(word_of(op.b));
    words.add(uint64_t{op.a_stride} << 32 | op.c_stride);
    return;
  }
  words.dram(op.dram);
  words.add(op.dram_stride);
  words.add(pack({op.rows, op.cols}, 32));
  words.add(pack({op.row_bytes, op.local}, 32));
  words.add(pack({op.block_stride, op.repeats}, 32));
  words.add(word_of(op.pooling));
  words.add(pack({op.pooling.rows, op.pooling.cols}, 8));
}

void Decoder::describe(Words& words) const {
  const ConfigEx& ex = state_.ex;
  words.add(pack({static_cast<uint64_t>(ex.dataflow), ex.transpose_a, ex.transpose_b}, 1));
  words.add(pack({ex.a_stride, ex.c_stride}, 32));
  for (const ConfigLd& load : state_.load) {
    words.add(load.dram_stride_bytes);
    words.add(pack({std::bit_cast<uint32_t>(load.scale), load.block_stride}, 32));
    words.add(pack({load.pixel_repeats, load.shrink}, 8));
  }
  words.add(state_.store.dram_stride_bytes);
  words.add(word_of(state_.store.pooling));
  words.add(pack({state_.store.pooling.rows, state_.store.pooling.cols}, 8));
}

}  // namespace zomboss::gemmini::timing
