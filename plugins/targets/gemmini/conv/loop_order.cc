#include "plugins/targets/gemmini/conv/loop_order.h"

#include <array>

#include "plugins/targets/gemmini/conv/loop.h"
#include "plugins/targets/gemmini/sim/unroll.h"

namespace zomboss::gemmini::conv {
namespace {

struct Loop {
  std::vector<Command> loads, steps, stores;
};

// The command with scratchpad rows `by` further.
Command moved(const Command& command, uint32_t by) {
  const auto shift = [&](uint64_t word) {
    Operand operand = decode_operand(word);
    if (operand.address != kGarbage && !is_accumulator(operand.address)) operand.address += by;
    return encode_operand(operand);
  };
  switch (static_cast<Funct>(command.funct)) {
    case Funct::kMvin:
    case Funct::kMvin2:
    case Funct::kMvin3:
      return {command.funct, command.rs1, shift(command.rs2)};
    case Funct::kPreload:
    case Funct::kComputeFlip:
    case Funct::kComputeStay:
      return {command.funct, shift(command.rs1), command.rs2};
    default:
      return command;
  }
}

// Takes the commands of three lists in turns, so that all end together.
void interleave(const std::array<const std::vector<Command>*, 3>& lists, std::vector<Command>& out) {
  std::array<size_t, 3> at = {};
  for (;;) {
    size_t next = lists.size();
    double least = 1;
    for (size_t i = 0; i < lists.size(); ++i) {
      if (lists[i] == nullptr || at[i] == lists[i]->size()) continue;
      const double done = static_cast<double>(at[i]) / static_cast<double>(lists[i]->size());
      if (done < least) {
        least = done;
        next = i;
      }
    }
    if (next == lists.size()) return;
    // A preload and its computation stay together.
    const size_t count = lists[next]->at(at[next]).funct == static_cast<uint32_t>(Funct::kPreload) ? 2 : 1;
    for (size_t i = 0; i < count; ++i) out.push_back(lists[next]->at(at[next]++));
  }
}

}  // namespace

std::vector<Command> unrolled_loops(const Problem& problem, const Mapping& mapping, const Machine& machine,
                                    int64_t most_steps, size_t least_loops, std::vector<size_t>& begins) {
  std::vector<Command> before;
  std::vector<Loop> loops;
  int64_t steps = 0;
  Unroller unroller(machine);
  LoopConv latched;
  bool inside = false;
  uint32_t by = 0;
  const CommandSink sink = [&](const Command& command) {
    if (!inside) {
      const bool configures = command.funct == static_cast<uint32_t>(Funct::kConfig);
      if (configures) before.push_back(command);  // copies are estimated elsewhere
    } else if (command.funct == static_cast<uint32_t>(Funct::kMvout)) {
      loops.back().stores.push_back(command);
    } else if (load_state_of(command.funct) >= 0 || command.funct == static_cast<uint32_t>(Funct::kConfig)) {
      loops.back().loads.push_back(moved(command, by));
    } else {
      loops.back().steps.push_back(moved(command, by));
    }
    return Status();
  };
  for (const Command& command : build_loops(problem, mapping, machine)) {
    latch(latched, command);
    inside = command.funct == static_cast<uint32_t>(Funct::kLoopConv);
    if (inside) {
      const bool forced = latched.a_scratchpad_id != 0 || latched.b_scratchpad_id != 0;
      by = !forced && loops.size() % 2 == 1 ? machine.loop_scratchpad_rows() : 0;
      loops.emplace_back();
    }
    if (!unroller.feed(command, sink).ok()) break;  // build_loops made it: never
    if (!inside) continue;
    steps += static_cast<int64_t>(loops.back().steps.size()) / 2;
    if (steps >= most_steps && loops.size() >= least_loops) break;
  }
  std::vector<Command> result = std::move(before);
  if (loops.empty()) return result;
  interleave({&loops[0].loads, nullptr, nullptr}, result);
  for (size_t i = 0; i < loops.size(); ++i) {
    begins.push_back(result.size());
    interleave({i > 0 ? &loops[i - 1].stores : nullptr, &loops[i].steps,
                i + 1 < loops.size() ? &loops[i + 1].loads : nullptr},
               result);
  }
  interleave({&loops.back().stores, nullptr, nullptr}, result);
  return result;
}

}  // namespace zomboss::gemmini::conv
