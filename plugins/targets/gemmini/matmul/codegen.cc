#include "plugins/targets/gemmini/matmul/codegen.h"

#include <algorithm>
#include <array>
#include <optional>

#include "plugins/targets/gemmini/sim/loop_command.h"

namespace zomboss::gemmini {
namespace {

class Generator {
 public:
  explicit Generator(const Schedule& schedule) : schedule_(schedule) {}

  std::vector<Command> run(std::vector<size_t>* begins) {
    commands_.reserve(schedule_.operations.size() * 2 + 8);
    configure_execution();
    for (const Operation& operation : schedule_.operations) {
      while (begins != nullptr && begins->size() <= operation.place.tile) begins->push_back(commands_.size());
      emit(operation);
    }
    return std::move(commands_);
  }

 private:
  void configure_execution() {
    ConfigEx ex;
    ex.dataflow = schedule_.dataflow == ArrayDataflow::kWeightStationary ? Dataflow::kWeightStationary
                                                                         : Dataflow::kOutputStationary;
    // The transposer in front of the array takes B when that stays in it, A when C does.
    ex.transpose_a = schedule_.a_transposed;
    ex.transpose_b = schedule_.b_transposed;
    commands_.push_back(config_ex(ex));
  }

  void emit(const Operation& operation) {
    const bool of_loop = schedule_.interface == Interface::kLoopWs && operation.stream < kFirstCopyStream;
    switch (operation.kind) {
      case Operation::Kind::kFence:
        commands_.push_back(fence());
        loops_configured_ = false;
        return;
      case Operation::Kind::kLoad:
        return of_loop ? void() : emit_load(operation);
      case Operation::Kind::kStore:
        return of_loop ? void() : emit_store(operation);
      case Operation::Kind::kStep:
        return of_loop ? emit_loop(operation.place.tile) : emit_step(operation);
    }
  }

  // A whole macro tile at its first step; its other operations are the hardware's.
  void emit_loop(uint32_t number) {
    if (number == last_loop_) return;
    last_loop_ = number;
    if (!loops_configured_) configure_loops();
    const Tile& tile = schedule_.tiles[number];
    const Stream& store = schedule_.streams[kStreamC];
    const auto elements = [&](StreamNumber stream) {
      return schedule_.streams[stream].stride_bytes / schedule_.streams[stream].element_bytes();
    };
    LoopWs loop;
    loop.i = static_cast<uint16_t>(tile.rows);
    loop.j = static_cast<uint16_t>(tile.cols);
    loop.k = static_cast<uint16_t>(tile.depth);
    loop.pad_i = tile.pad_rows;
    loop.pad_j = tile.pad_cols;
    loop.pad_k = tile.pad_depth;
    loop.a = tile.loads_a ? tile.dram[kA] : 0;
    loop.b = tile.loads_b ? tile.dram[kB] : 0;
    loop.d = tile.first_k ? tile.dram[kD] : 0;
    loop.c = tile.last_k ? tile.dram[kC] : 0;
    loop.a_stride = elements(kStreamA);
    loop.b_stride = elements(kStreamB);
    loop.c_stride = elements(kStreamC);
    loop.d_stride = tile.dram[kD] == 0 ? loop.c_stride : elements(kStreamD);
    loop.accumulate = !tile.first_k || tile.dram[kD] != 0;
    loop.full_c = store.full_width;
    loop.activation = store.relu ? Activation::kRelu : Activation::kNone;
    loop.a_scratchpad_id = tile.a_id;
    loop.b_scratchpad_id = tile.b_id;
    loop.transpose_a = schedule_.a_transposed;
    loop.transpose_b = schedule_.b_transposed;
    for (const Command& command : loop_ws(loop)) commands_.push_back(command);
  }

  void configure_loops() {
    if (!first_call_) configure_execution();
    first_call_ = false;
    loops_configured_ = true;
    const Stream& store = schedule_.streams[kStreamC];
    ConfigSt config;
    config.dram_stride_bytes = static_cast<uint32_t>(store.stride_bytes);
    config.activation = store.relu ? Activation::kRelu : Activation::kNone;
    config.acc_scale = store.scale;
    store_config_ = config_st(config);
    commands_.push_back(*store_config_);
    for (const StreamNumber stream : {kStreamA, kStreamB, kStreamD}) {
      ConfigLd load;
      load.state = schedule_.streams[stream].state;
      load.dram_stride_bytes = schedule_.streams[stream].stride_bytes;
      load.block_stride = static_cast<uint16_t>(schedule_.dim);
      load_config_[load.state] = config_ld(load);
      commands_.push_back(*load_config_[load.state]);
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
    const Operand rows_of_a{scratchpad_address(step.row), step.rows, step.cols};
    if (schedule_.dataflow == ArrayDataflow::kOutputStationary) {
      commands_.push_back(preload({kGarbage, dim, dim}, result));
      commands_.push_back(compute(true, rows_of_a, {scratchpad_address(step.b_row), step.cols, step.n_cols}));
      return;
    }
    commands_.push_back(preload(weights, result));
    commands_.push_back(compute(step.flip, rows_of_a, {kGarbage, dim, dim}));
  }

  const Schedule& schedule_;
  std::vector<Command> commands_;
  std::array<std::optional<Command>, 3> load_config_;
  std::optional<Command> store_config_;
  bool loops_configured_ = false;
  bool first_call_ = true;
  std::optional<uint32_t> last_loop_;
};

}  // namespace

std::vector<Command> generate_code(const Schedule& schedule, std::vector<size_t>* begins) {
  return Generator(schedule).run(begins);
}

}  // namespace zomboss::gemmini
