// Expands loop commands to primitive commands in the order, and at the local addresses, of the functional
// model. (The hardware emits the same work in another order and place; timing.h models that.)
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "plugins/targets/gemmini/sim/loop_command.h"
#include "plugins/targets/gemmini/sim/machine.h"
#include "zomboss/sdk/status.h"

namespace zomboss::gemmini {

// Takes the commands one by one; a failure stops the expansion and is returned.
using CommandSink = std::function<Status(const Command&)>;

// The commands of one loop_ws run. Fails when the tiles do not fit half of a memory.
Status unroll_loop_ws(const LoopWs& loop, const Machine& machine, const CommandSink& sink);

// Where one loop_conv_ws run starts in the accumulator, and the store scale that it must keep. Scratchpad id
// 0 stands for the lower half of the scratchpad here, or for the upper one: the hardware's second loop in
// flight.
struct ConvPlace {
  uint32_t d_row = 0;
  uint32_t c_row = 0;
  float acc_scale = 1.0f;
  bool upper_half = false;
};
// The commands of one loop_conv_ws run. Fails on empty dimensions and on tiles that do not fit half of a
// memory.
Status unroll_loop_conv(const LoopConv& loop, const Machine& machine, ConvPlace place,
                        const CommandSink& sink);

// The same commands by what they do; each part in its order.
struct ConvParts {
  std::vector<Command> bias, weights, input, execute, store;
};
Result<ConvParts> split_loop_conv(const LoopConv& loop, const Machine& machine, ConvPlace place);

// Folds a command stream: plain commands pass through, loop configuration latches, loop runs expand.
class Unroller {
 public:
  explicit Unroller(const Machine& machine) : machine_(machine) {}
  Status feed(const Command& command, const CommandSink& sink);

 private:
  Machine machine_;
  LoopWs ws_;
  LoopConv conv_;
  ConvPlace place_;
};

// The whole stream expanded; flushes are dropped.
Result<std::vector<Command>> expand(std::span<const Command> commands, const Machine& machine);

}  // namespace zomboss::gemmini
