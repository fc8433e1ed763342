#include "plugins/targets/gemmini/sim/functional.h"

#include <fmt/format.h>

#include <algorithm>

namespace zomboss::gemmini {

Result<FunctionalSimulator> FunctionalSimulator::create(const Machine& machine, Dram& dram,
                                                        FunctionalOptions options) {
  ZB_TRY(check_machine(machine));
  return FunctionalSimulator(machine, dram, options);
}

FunctionalSimulator::FunctionalSimulator(const Machine& machine, Dram& dram, FunctionalOptions options)
    : machine_(machine),
      dram_(&dram),
      options_(options),
      unroller_(machine),
      common_ground_(machine),
      scratchpad_(size_t{machine.scratchpad_rows} * machine.dim),
      accumulator_(size_t{machine.accumulator_rows} * machine.dim),
      weights_(size_t{machine.dim} * machine.dim),
      packed_(machine.dim),
      partial_sums_(weights_.size()),
      packed_moving_(machine.dim),
      tile_(weights_.size()),
      results_(weights_.size()),
      row32_(machine.max_block_columns()),
      row8_(machine.max_block_columns()) {}

Status FunctionalSimulator::run(std::span<const Command> commands) {
  const Command* given = nullptr;
  const CommandSink sink = [&](const Command& primitive) {
    ++counts_.primitive_commands;
    Status status = options_.strict ? common_ground_.check(primitive) : Status();
    if (status.ok()) status = execute(primitive);
    if (status.ok() || &primitive == given) return status;
    return std::move(status).with_prefix(disassemble(primitive));  // the unrolled command, after its loop
  };
  for (size_t index = 0; index < commands.size(); ++index) {
    const Command& command = commands[index];
    ++counts_.commands;
    given = &command;
    Status status = options_.strict ? common_ground_.check_loop(command) : Status();
    if (status.ok()) status = unroller_.feed(command, sink);
    if (!status.ok()) {
      return std::move(status).with_prefix(fmt::format("command {} ({})", index, disassemble(command)));
    }
  }
  return {};
}

Status FunctionalSimulator::execute(const Command& command) {
  switch (static_cast<Funct>(command.funct)) {
    case Funct::kConfig:
      return configure(command);
    case Funct::kMvin:
    case Funct::kMvin2:
    case Funct::kMvin3:
      return move_in(command);
    case Funct::kMvout:
      return move_out(command);
    case Funct::kPreload:
      stationary_ = decode_operand(command.rs1);
      result_ = decode_operand(command.rs2);
      return {};
    case Funct::kComputeFlip:
      return compute_step(command, true);
    case Funct::kComputeStay:
      return compute_step(command, false);
    case Funct::kFlush:
    case Funct::kClockGate:
    case Funct::kCounter:
    case Funct::kFence:
      return {};  // no effect on memory
    default:
      break;
  }
  return invalid_argument(fmt::format("illegal instruction: funct {} is no Gemmini command", command.funct));
}

Status FunctionalSimulator::configure(const Command& command) {
  switch (config_kind(command)) {
    case ConfigKind::kExecute:
      return configure_execute(command);
    case ConfigKind::kLoad: {
      const ConfigLd config = decode_config_ld(command);
      if (config.state >= machine_.load_states) {
        return invalid_argument(fmt::format("load state {} does not exist, the machine has {}", config.state,
                                            machine_.load_states));
      }
      load_[config.state] = {config};
      return {};
    }
    case ConfigKind::kStore: {
      const Activation before = store_.activation;
      store_ = decode_config_st(command);
      // Softmax, once set by config_norm, survives a config_st that asks for no activation.
      if (before == Activation::kSoftmax && store_.activation == Activation::kNone)
        store_.activation = before;
      return {};
    }
    case ConfigKind::kNorm:
      break;
  }
  return configure_norm(command);
}

Status FunctionalSimulator::configure_execute(const Command& command) {
  const ConfigEx config = decode_config_ex(command);
  if (config.strides_only) {
    ex_.a_stride = config.a_stride;
    ex_.c_stride = config.c_stride;
    return {};
  }
  const bool weight_stationary = config.dataflow == Dataflow::kWeightStationary;
  if (weight_stationary && config.transpose_a && config.transpose_b) {
    return invalid_argument("weight-stationary computation cannot transpose both A and B");
  }
  if (!weight_stationary && config.transpose_b && !config.transpose_a) {
    return invalid_argument("output-stationary computation can transpose B only together with A");
  }
  if (config.in_shift >= 32) {
    return invalid_argument(fmt::format("in_shift is {}, must be less than 32", config.in_shift));
  }
  ex_ = config;
  return {};
}

Status FunctionalSimulator::configure_norm(const Command& command) {
  const ConfigNorm config = decode_config_norm(command);
  if (config.statistic >= Normaliser::kStatistics) {
    return invalid_argument(
        fmt::format("statistic {} does not exist, there are {}", config.statistic, Normaliser::kStatistics));
  }
  normaliser_.configure(config);
  if (!config.statistic_only) {
    const auto low = static_cast<uint8_t>(store_.activation) & 3u;
    // Bit 2 set with any other low bits names nothing; only softmax has it.
    store_.activation = config.softmax ? Activation::kSoftmax : static_cast<Activation>(low);
  }
  return {};
}

}  // namespace zomboss::gemmini
