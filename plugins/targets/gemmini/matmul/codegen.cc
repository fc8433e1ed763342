#include "plugins/targets/gemmini/matmul/codegen.h"

#include <algorithm>
#include <array>
#include <optional>

namespace zomboss::gemmini {
namespace {

class Generator {
 public:
  explicit Generator(const Schedule& schedule) : schedule_(schedule) {}

  std::vector<Command> run() {
    commands_.reserve(schedule_.operations.size() * 2 + 8);
    ConfigEx ex;
    ex.transpose_a = schedule_.a_transposed;
    ex.transpose_b = schedule_.b_transposed;
    commands_.push_back(config_ex(ex));
    for (const Operation& operation : schedule_.operations) emit(operation);
    return std::move(commands_);
  }

 private:
  void emit(const Operation& operation) {
    switch (operation.kind) {
      case Operation::Kind::kFence:
        commands_.push_back(fence());
        return;
      case Operation::Kind::kLoad:
        return emit_load(operation);
      case Operation::Kind::kStore:
        return emit_store(operation);
      case Operation::Kind::kStep:
        return emit_step(operation);
    }
  }

  void configure(std::optional<Command>& current, const Command& wanted) {
    if (current == wanted) return;
    commands_.push_back(wanted);
    current = wanted;
  }

  void emit_load(const Operation& load) {
    const Stream& stream = schedule_.streams[load.stream];
    ConfigLd config;
    config.state = stream.state;
    config.dram_stride_bytes = stream.stride_bytes;
    config.block_stride = static_cast<uint16_t>(schedule_.dim);
    configure(load_config_[stream.state], config_ld(config));
    const uint32_t local = stream.accumulator ? accumulator_address(load.row) : scratchpad_address(load.row);
    commands_.push_back(mvin(load.dram, {local, load.rows, load.cols}, stream.state));
  }

  void emit_store(const Operation& store) {
    const Stream& stream = schedule_.streams[store.stream];
    ConfigSt config;
    config.dram_stride_bytes = static_cast<uint32_t>(stream.stride_bytes);
    config.activation = stream.relu ? Activation::kRelu : Activation::kNone;
    config.acc_scale = stream.scale;
    configure(store_config_, config_st(config));
    const uint32_t local = stream.accumulator ? accumulator_address(store.row, false, stream.full_width)
                                              : scratchpad_address(store.row);
    commands_.push_back(mvout(store.dram, {local, store.rows, store.cols}));
  }

  void emit_step(const Operation& step) {
    const auto dim = static_cast<uint16_t>(schedule_.dim);
    const Operand weights = step.flip ? Operand{scratchpad_address(step.b_row), step.cols, step.n_cols}
                                      : Operand{kGarbage, dim, dim};
    const Operand result{accumulator_address(step.c_row, step.accumulate), step.rows, step.n_cols};
    commands_.push_back(preload(weights, result));
    commands_.push_back(
        compute(step.flip, {scratchpad_address(step.row), step.rows, step.cols}, {kGarbage, dim, dim}));
  }

  const Schedule& schedule_;
  std::vector<Command> commands_;
  std::array<std::optional<Command>, 3> load_config_;
  std::optional<Command> store_config_;
};

}  // namespace

std::vector<Command> generate_code(const Schedule& schedule) {
  return Generator(schedule).run();
}

}  // namespace zomboss::gemmini
